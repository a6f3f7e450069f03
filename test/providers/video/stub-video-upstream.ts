import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** How one request is answered. */
export type StubReply =
  | { kind: 'json'; status?: number; body: unknown; headers?: Record<string, string> }
  /** Bytes; after `breakAfter` of them nothing more, or a reset. */
  | {
      kind: 'file';
      bytes: Uint8Array;
      status?: number;
      breakAfter?: { bytes: number; ending: 'stall' | 'reset' };
    }
  | { kind: 'redirect'; location: string }
  /** No answer at all, with the connection open or reset. */
  | { kind: 'silence' }
  | { kind: 'hang-up' };

interface StubRequest {
  method: string;
  /** With the query. */
  path: string;
  headers: IncomingMessage['headers'];
  /** The parsed JSON body; null without one. */
  body: unknown;
}

/** An upstream on loopback that makes videos as it is told, and remembers what it was asked. */
export interface StubVideoUpstream {
  origin: string;
  requests: StubRequest[];
  /** Answers `METHOD /path` so, one reply after another; the last for good. Anything else is 404. */
  reply(route: string, ...replies: StubReply[]): void;
  close(): Promise<void>;
}

export const startStubVideoUpstream = async (): Promise<StubVideoUpstream> => {
  const requests: StubRequest[] = [];
  const routes = new Map<string, StubReply[]>();

  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = '', url: path = '', headers } = incoming;
    requests.push({ method, path, headers, body: await readJson(incoming) });
    const replies = routes.get(`${method} ${path}`) ?? [notFound];
    send(response, (replies.length > 1 ? replies.shift() : replies[0]) ?? notFound);
  };
  const server = createServer((incoming, response) => {
    handle(incoming, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    reply: (route, ...replies) => void routes.set(route, replies),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};

const notFound: StubReply = { kind: 'json', status: 404, body: { error: { message: 'no such thing' } } };

const readJson = async (incoming: IncomingMessage): Promise<unknown> => {
  const chunks: Uint8Array[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString('utf8');
  return text === '' ? null : JSON.parse(text);
};

const send = (response: ServerResponse, reply: StubReply): void => {
  switch (reply.kind) {
    case 'json':
      response
        .writeHead(reply.status ?? 200, { 'content-type': 'application/json', ...reply.headers })
        .end(JSON.stringify(reply.body));
      return;
    case 'file': {
      const { bytes, status = 200, breakAfter } = reply;
      response.writeHead(status, {
        'content-type': 'application/octet-stream',
        'content-length': bytes.length,
      });
      if (breakAfter === undefined) {
        response.end(bytes);
        return;
      }
      response.write(bytes.subarray(0, breakAfter.bytes), () => {
        if (breakAfter.ending === 'reset') response.socket?.resetAndDestroy();
      });
      return;
    }
    case 'redirect':
      response.writeHead(302, { location: reply.location }).end();
      return;
    case 'hang-up':
      response.socket?.resetAndDestroy();
      return;
    case 'silence':
  }
};
