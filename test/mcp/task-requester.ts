import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import {
  createTaskSessionFromClient,
  type TaskEnabledSession,
  type ToolExecution,
} from '@modelcontextprotocol/ext-tasks/client';
import type { TaskId } from '@modelcontextprotocol/ext-tasks/core';
import { onTestFinished } from 'vitest';

const protocolVersion = '2026-07-28';
const clientInfo = { name: 'causeway-test', version: '1.0.0' };
const clientCapabilities = { extensions: { 'io.modelcontextprotocol/tasks': {} } };

type Params = Record<string, unknown>;

interface ModernRequest {
  method: string;
  params?: Params;
  /** Stands before the JSON. */
  mark?: string;
}

export interface RpcAnswer {
  result?: Params;
  error?: { code: number; message: string; data?: Params };
}

/** Sends one request of revision 2026-07-28; by default it declares the tasks extension. */
export const sendModern = async (
  { url, apiKey }: { url: string; apiKey: string | null },
  { method, params = {}, mark = '' }: ModernRequest,
  capabilities: object = clientCapabilities,
): Promise<RpcAnswer> => {
  const name = params['taskId'] ?? params['name'];
  const meta = {
    'io.modelcontextprotocol/protocolVersion': protocolVersion,
    'io.modelcontextprotocol/clientInfo': clientInfo,
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  };
  const answer = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': protocolVersion,
      'mcp-method': method,
      ...(typeof name === 'string' ? { 'mcp-name': name } : {}),
      ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
    },
    body: mark + JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { _meta: meta, ...params } }),
  });
  const text = await answer.text();
  const data = text.startsWith('{') ? text : text.slice(text.lastIndexOf('data: ') + 6);
  return JSON.parse(data) as RpcAnswer;
};

/** Connects the official requester of tasks until the end of the test, as a host does. */
export const connectRequester = async ({
  url,
  apiKey,
}: {
  /** Without a path. */
  url: string;
  apiKey: string;
}): Promise<TaskEnabledSession> => {
  const client = new Client(clientInfo, {
    capabilities: clientCapabilities,
    versionNegotiation: { mode: { pin: protocolVersion } },
  });
  const address = `${url}/mcp`;
  const requestInit = { headers: { authorization: `Bearer ${apiKey}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(address), { requestInit }));
  const session = createTaskSessionFromClient(client, {
    endpointId: 'causeway',
    v2RequestFraming: { protocolVersion, clientInfo, clientCapabilities },
    rawDispatch: async (request) => {
      const { result, error } = await sendModern({ url: address, apiKey }, request as { method: string });
      return error === undefined
        ? { kind: 'result', result: JSON.parse(JSON.stringify(result)) }
        : { kind: 'error', error: JSON.parse(JSON.stringify(error)) };
    },
  });
  onTestFinished(() => session.close());
  return session;
};

/** Returns the id of the task that a call was answered with. */
export const taskIdOf = (execution: ToolExecution<unknown>): TaskId => {
  if (execution.kind !== 'task') throw new Error('the call was not answered with a task');
  return execution.handle.taskId;
};
