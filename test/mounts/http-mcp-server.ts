import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

export interface SeenRequest {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** Answers a request. Returns false: the usual answer is given. */
export type Answer = (request: SeenRequest, response: ServerResponse) => boolean;

interface RpcMessage {
  id?: number;
  method?: string;
  params?: { name?: string; protocolVersion?: string };
}

const resultOf = ({ method, params = {} }: RpcMessage): object | null => {
  if (method === 'initialize')
    return {
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'test', version: '1' },
    };
  if (method === 'tools/list') return { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] };
  if (method === 'tools/call') return { content: [{ type: 'text', text: `ran ${params.name}` }] };
  return null;
};

/** Answers as an MCP server of Streamable HTTP without sessions. */
const answerRpc = ({ method, body }: SeenRequest, response: ServerResponse): unknown => {
  if (method !== 'POST') return response.writeHead(405).end();
  const message = JSON.parse(body) as RpcMessage;
  const result = resultOf(message);
  if (message.id === undefined || result === null) return response.writeHead(202).end();
  return response
    .writeHead(200, { 'content-type': 'application/json' })
    .end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result }));
};

/** A server on this machine for one test, and what it was asked. */
export const startHttpMcp = async (
  answer: Answer = () => false,
): Promise<{ origin: string; seen: SeenRequest[]; stop: () => Promise<void> }> => {
  const seen: SeenRequest[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const { method = '', url = '', headers } = request;
      const one = { method, path: url, headers, body };
      seen.push(one);
      if (!answer(one, response)) answerRpc(one, response);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  let stopping: Promise<unknown> | null = null;
  const stop = async (): Promise<void> => {
    stopping ??= once(server, 'close');
    server.close();
    server.closeAllConnections();
    await stopping;
  };
  onTestFinished(stop);
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen, stop };
};
