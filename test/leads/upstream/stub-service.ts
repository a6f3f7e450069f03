import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** How one request is answered. */
export type StubAnswer =
  | { kind: 'json'; value: unknown; status?: number; headers?: Record<string, string> }
  /** Any bytes, chunked. */
  | { kind: 'bytes'; bytes: string | Uint8Array; status?: number; headers?: Record<string, string> }
  /** Nothing, with the connection open; or this beginning of an answer and then nothing. */
  | { kind: 'silence'; after?: string; status?: number; headers?: Record<string, string> }
  /** This beginning of a good answer, and then a reset. */
  | { kind: 'reset'; after?: string }
  /** A good answer without end. */
  | { kind: 'endless' };

export interface StubRequest {
  method: string;
  url: URL;
  headers: IncomingMessage['headers'];
  /** The parsed JSON, or the list of its lines; null without a body. */
  body: unknown;
  /** When the answer has been sent or the client has gone. */
  closed: Promise<void>;
}

/** An HTTP service on loopback that answers as it is told and remembers what it was asked. */
export interface StubService {
  origin: string;
  requests: StubRequest[];
  /** Answers all further requests so. */
  answer(answer: StubAnswer | ((request: StubRequest) => StubAnswer)): void;
  close(): Promise<void>;
}

export const startStubService = async (first: StubAnswer): Promise<StubService> => {
  const requests: StubRequest[] = [];
  let behave: (request: StubRequest) => StubAnswer = () => first;

  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const closed = once(response, 'close').then(() => undefined);
    const body = await text(incoming);
    const request = {
      method: incoming.method ?? '',
      url: new URL(incoming.url ?? '/', 'http://stub'),
      headers: incoming.headers,
      body: readBody(body, incoming.headers['content-type']),
      closed,
    };
    requests.push(request);
    await send(behave(request), response);
  };
  const server = createServer((incoming, response) => {
    handle(incoming, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    answer: (next) => {
      behave = typeof next === 'function' ? next : () => next;
    },
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
};

const readBody = (body: string, type: string | undefined): unknown => {
  if (type === 'application/x-ndjson')
    return body.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
  return body === '' ? null : JSON.parse(body);
};

const json = { 'content-type': 'application/json; charset=utf-8' };

const send = async (answer: StubAnswer, response: ServerResponse): Promise<void> => {
  switch (answer.kind) {
    case 'json':
      response.writeHead(answer.status ?? 200, { ...json, ...answer.headers });
      response.end(JSON.stringify(answer.value));
      return;
    case 'bytes':
      response.writeHead(answer.status ?? 200, answer.headers).flushHeaders();
      response.end(answer.bytes);
      return;
    case 'silence':
    case 'reset':
      if (answer.after !== undefined) {
        const { status = 200, headers = {} } = answer.kind === 'silence' ? answer : {};
        response.writeHead(status, { ...json, ...headers }).write(answer.after);
      }
      if (answer.kind === 'reset') setImmediate(() => response.socket?.resetAndDestroy());
      return;
    case 'endless':
      response.writeHead(200, json);
      while (!response.destroyed) await writeOne(response);
  }
};

const writeOne = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    response.write(' '.repeat(65_536), () => resolve());
  });
