import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { AddressInfo } from 'node:net';

/** An answer on its way to the client. */
export interface PassedAnswer {
  /** Path and query. */
  path: string;
  status: number;
  /** Lower case names. */
  headers: Record<string, string>;
  body: Buffer;
}

/** A promise that never settles is an answer that never comes. */
export type Spoil = (answer: PassedAnswer) => PassedAnswer | Promise<PassedAnswer>;

export interface WrongServer {
  url: string;
  stop(): Promise<void>;
}

const hopHeaders = new Set([
  'connection',
  'content-length',
  'keep-alive',
  'transfer-encoding',
  'content-encoding',
]);

const pass = async (target: string, request: IncomingMessage): Promise<PassedAnswer> => {
  const body = await buffer(request);
  const method = request.method ?? 'GET';
  const headers = Object.entries(request.headers).flatMap(([name, value]): [string, string][] =>
    hopHeaders.has(name) || name === 'host' || typeof value !== 'string' ? [] : [[name, value]],
  );
  const answer = await fetch(target + request.url, {
    method,
    headers,
    ...(method === 'GET' || method === 'DELETE' ? {} : { body }),
  });
  return {
    path: request.url ?? '/',
    status: answer.status,
    headers: Object.fromEntries([...answer.headers].filter(([name]) => !hopHeaders.has(name))),
    body: Buffer.from(await answer.arrayBuffer()),
  };
};

/** A server that breaks the contract on purpose: every answer is what `spoil` makes of the target's true one. */
export const startWrongServer = async (target: string, spoil: Spoil): Promise<WrongServer> => {
  const server = createServer((request, response) => {
    pass(target, request)
      .then(spoil)
      .then(
        ({ status, headers, body }) => response.writeHead(status, headers).end(body),
        () => response.destroy(),
      );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
};
