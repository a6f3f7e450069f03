import {
  Client,
  ProtocolError,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';
import { OutboundError } from '../../src/http/outbound.ts';
import type { JsonObject } from '../../src/kit/json.ts';
import type { connectServer } from '../../src/mounts/connect-server.ts';
import { createMountFetch } from '../../src/mounts/create-http-transport.ts';
import { createStdioTransport } from '../../src/mounts/create-stdio-transport.ts';
import { failedResult, UnsentError, type MountedServer } from '../../src/mounts/mounted-server.ts';
import { readResult } from '../../src/mounts/read-result.ts';

/** Every answer. */
const anything = {
  '~standard': { version: 1 as const, vendor: 'test', validate: (value: unknown) => ({ value }) },
};

/** Does what `connectServer` does, with the next client of the SDK: what we tell of servers does not hang on the first. */
export const connectByClient2: typeof connectServer = async (
  config,
  { log, outbound, groups, clientInfo, onToolsChanged, signal: ending },
): Promise<MountedServer> => {
  const { target, timeouts, result: limits } = config;
  const ended = Promise.withResolvers<void>();
  const client = new Client(clientInfo, { capabilities: {}, versionNegotiation: { mode: 'legacy' } });
  Object.assign(client, {
    onclose: () => ended.resolve(),
    fallbackNotificationHandler: async ({ method }) => {
      if (method === 'notifications/tools/list_changed') onToolsChanged();
    },
  } satisfies Partial<Client>);
  const open = (): Transport => {
    if (target.kind === 'stdio') return createStdioTransport(target, { log, groups });
    const parts = { outbound, totalMs: timeouts.totalMs, onStreamEnd: () => void transport.close() };
    const { fetch } = createMountFetch(target, parts);
    const url = new URL(target.url);
    return target.isSse
      ? new SSEClientTransport(url, { fetch })
      : new StreamableHTTPClientTransport(url, { fetch });
  };
  const transport = open();
  const ask = async (
    method: string,
    params: JsonObject,
    options: Parameters<Client['request']>[2],
  ): Promise<JsonObject> => (await client.request({ method, params }, anything, options)) as JsonObject;
  try {
    await client.connect(transport, { timeout: timeouts.answerMs, signal: ending });
  } catch (error) {
    await transport.close();
    throw error;
  }
  return {
    ended: ended.promise,
    close: async () => {
      await transport.close();
      ended.resolve();
    },
    list: async (signal) => {
      const { tools } = await ask('tools/list', {}, { signal, timeout: timeouts.answerMs });
      return Array.isArray(tools) ? tools : [];
    },
    call: async (name, input, { signal, onProgress, traceparent }) => {
      if (client.transport === undefined)
        return { kind: 'unsent', cause: new UnsentError('the connection has ended') };
      const _meta: JsonObject = traceparent === undefined ? {} : { traceparent };
      try {
        const result = await ask(
          'tools/call',
          { name, arguments: input, _meta },
          {
            signal,
            timeout: timeouts.silenceMs,
            maxTotalTimeout: timeouts.totalMs,
            resetTimeoutOnProgress: true,
            onprogress: ({ progress, total, message }) => onProgress?.({ progress, total, message }),
          },
        );
        return { kind: 'answered', result: readResult(result, limits) };
      } catch (cause) {
        if (cause instanceof UnsentError)
          return { kind: 'unsent', isSessionLost: cause.isSessionLost, cause };
        if (cause instanceof OutboundError && cause.failure === 'unreachable')
          return { kind: 'unsent', cause };
        return cause instanceof ProtocolError
          ? { kind: 'answered', result: readResult(failedResult(cause.message), limits) }
          : { kind: 'unknown', cause };
      }
    },
  };
};
