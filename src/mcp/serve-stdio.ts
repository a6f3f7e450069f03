import process from 'node:process';
import { randomUUID } from 'node:crypto';
import type { Readable, Writable } from 'node:stream';
import { serveStdio as serveConnection, StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { AppError, ConfigError } from '../kit/errors.ts';
import { unboundedMemory } from '../limits/request-memory.ts';
import type { Call, Services } from '../operations/call.ts';
import type { Operation } from '../operations/definition.ts';
import { createMcpMethods } from './create-mcp-methods.ts';
import type { McpIdentity } from './tool-list.ts';

export interface ServeStdioOptions {
  services: Services;
  operations: readonly Operation[];
  /** Null without a key; rejects with AppError `invalid_api_key` on a wrong one. */
  authenticate: (authorization: string | undefined) => Promise<Call['caller']>;
  /** The key of the assistant; null serves only tools that need none. */
  apiKey: string | null;
  input?: Readable;
  output?: Writable;
  signal?: AbortSignal;
}

/**
 * Serves one local assistant over standard input and output; resolves when it has gone. Nothing else may write to
 * standard output meanwhile: the log goes to standard error. Rejects with ConfigError when the key is wrong. Calls with a
 * key that is revoked later answer tool errors.
 */
export const serveStdio = async ({
  services,
  operations,
  authenticate,
  apiKey,
  input = process.stdin,
  output = process.stdout,
  signal,
}: ServeStdioOptions): Promise<void> => {
  const { config, log } = services;
  const authorization = apiKey === null ? undefined : `Bearer ${apiKey}`;
  const caller = await authenticate(authorization).catch((cause: unknown) => {
    throw cause instanceof AppError
      ? new ConfigError(
          'CAUSEWAY_API_KEY: the key is unknown here, revoked, or of an account that is not active. Set a key of ' +
            'this gateway ("causeway keys issue ACCOUNT_ID" makes one), or remove it: on a folder with ' +
            'sandbox models alone the assistant then acts for the first account',
          { cause },
        )
      : cause;
  });
  const identity: McpIdentity = {
    group: 'all',
    hasKey: apiKey !== null,
    caller: () => authenticate(authorization),
    callerOf: (key) => authenticate(`Bearer ${key}`),
    clientAddress: '127.0.0.1',
    requestId: () => `req_${randomUUID()}`,
    note: caller === null ? {} : { account: caller.accountId },
    logsCalls: true,
    memory: unboundedMemory,
    keyHint:
      'Set CAUSEWAY_API_KEY in the environment of this server, in the settings of the ' +
      `assistant; the operator of ${services.publicUrl()} issues keys.`,
  };
  const { createServer } = createMcpMethods({ services, operations });
  const transport = new StdioServerTransport(input, output, { maxBufferSize: config.maxBodyBytes });
  const connection = serveConnection(({ era }) => createServer(identity, era === 'legacy'), {
    transport,
    onerror: (error) => log.warn({ err: error }, 'MCP over stdio'),
  });
  const close = (): void => void connection.close();
  signal?.addEventListener('abort', close, { once: true });
  if (signal?.aborted === true) close();
  await new Promise<void>((resolve) => {
    const { onclose } = transport;
    // The transport is no EventTarget; this is its only signal.
    // oxlint-disable-next-line unicorn/prefer-add-event-listener
    transport.onclose = () => {
      onclose?.();
      resolve();
    };
  });
  signal?.removeEventListener('abort', close);
};
