import { connect, type Socket } from 'node:net';
import { Agent, createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test, vi } from 'vitest';
import { AppError, toAppError } from '../../src/kit/errors.ts';
import { discardUnread, readJsonBody, type ReadJsonBodyOptions } from '../../src/rest/read-json-body.ts';
import { listen } from '../http/local-hosts.ts';
import { sendBeforeReading } from './send-before-reading.ts';

/** Resolves when the connection is over, be it by a reset, which `once` would reject with. */
const closing = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    socket.once('close', () => resolve());
  });

interface ServeOptions extends Partial<ReadJsonBodyOptions> {
  longestMs?: number;
}

/** A server that answers 200 for a body, or the status of its refusal; `failures` has what was thrown. */
const serve = async ({ longestMs, ...options }: ServeOptions = {}) => {
  const failures: unknown[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    sockets.add(request.socket);
    discardUnread(request, response, longestMs === undefined ? {} : { longestMs });
    readJsonBody(request, { maxBytes: 1_000, reserve: () => Promise.resolve(), ...options })
      .then(() => response.end('taken'))
      .catch((error: unknown) => {
        failures.push(error);
        response.writeHead(toAppError(error).status).end('refused');
      });
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: await listen(server), failures, sockets };
};

const bytes = Buffer.alloc(20_000_000, ' ');
const requestOf = (headers: string, body: string[]): Buffer =>
  Buffer.concat([
    Buffer.from(`POST / HTTP/1.1\r\nHost: a\r\n${headers}\r\n\r\n${body[0] ?? ''}`),
    bytes,
    Buffer.from(body[1] ?? ''),
  ]);
const length = `Content-Length: ${bytes.length}`;
const chunk = [`${bytes.length.toString(16)}\r\n`, '\r\n0\r\n\r\n'];
const requests: [string, Buffer][] = [
  ['announced', requestOf(length, [])],
  ['announced last', requestOf(`${length}\r\nConnection: close`, [])],
  ['unannounced', requestOf('Transfer-Encoding: chunked', chunk)],
  ['unannounced last', requestOf('Transfer-Encoding: chunked\r\nConnection: close', chunk)],
];

test.each(requests)(
  'an %s body that is too large is refused, also to a client that sends all of it first',
  async (_how, request) => {
    const { port } = await serve();
    for (let round = 0; round < 5; round += 1)
      expect(await sendBeforeReading(port, request)).toBe('HTTP/1.1 413 Payload Too Large');
  },
);

test.each(requests)(
  'an %s body without memory for it is refused, also to a client that sends all of it first',
  async (_how, request) => {
    const { port } = await serve({
      maxBytes: bytes.length,
      reserve: () => Promise.reject(new AppError('overloaded', 'Try again shortly.')),
    });
    for (let round = 0; round < 5; round += 1)
      expect(await sendBeforeReading(port, request)).toBe('HTTP/1.1 503 Service Unavailable');
  },
);

test('a connection serves the next request after a refusal', async () => {
  const { port, sockets } = await serve();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  const post = async (body: Buffer | string): Promise<string> => {
    const request = httpRequest({ port, method: 'POST', agent });
    request.end(body);
    const [answer] = (await once(request, 'response')) as [IncomingMessage];
    return `${answer.statusCode} ${await text(answer)}`;
  };
  expect(await post(Buffer.alloc(500_000, ' '))).toBe('413 refused');
  expect(await post('{}')).toBe('200 taken');
  expect(sockets.size).toBe(1);
});

test.each(['keep-alive', 'close'])(
  'a client that does not stop sending after a refusal is cut off (%s)',
  async (connection) => {
    const { port } = await serve({ longestMs: 100 });
    const socket = connect(port, '127.0.0.1');
    const closed = closing(socket);
    socket.on('error', () => undefined).resume();
    socket.write(
      `POST / HTTP/1.1\r\nHost: a\r\nConnection: ${connection}\r\nContent-Length: 900000000\r\n\r\n`,
    );
    const dripping = setInterval(() => socket.write(' '), 10);
    onTestFinished(() => {
      clearInterval(dripping);
    });
    await expect(closed).resolves.toBeUndefined();
  },
);

test('a client that stops in the middle of its body is cut off, and its body is dropped', async () => {
  const { port, failures } = await serve({ sender: { periodMs: 100 } });
  const socket = connect(port, '127.0.0.1');
  const closed = closing(socket);
  socket.on('error', () => undefined).resume();
  socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 900\r\n\r\n{');
  await closed;
  await expect.poll(() => failures).toHaveLength(1);
});

test('a client that sends too slowly is cut off, even if it sends steadily', async () => {
  const { port, failures } = await serve({ maxBytes: 1_000_000, sender: { periodMs: 200 } });
  const socket = connect(port, '127.0.0.1');
  const closed = closing(socket);
  socket.on('error', () => undefined).resume();
  socket.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\n{');
  const dripping = setInterval(() => socket.write(' '), 10);
  onTestFinished(() => {
    clearInterval(dripping);
  });
  await closed;
  await expect.poll(() => failures).toHaveLength(1);
});

test.each(['Content-Length: 8000000', 'Transfer-Encoding: chunked'])(
  'a client that is too slow for the length that memory is reserved for is cut off (%s)',
  async (header) => {
    const { port, failures } = await serve({
      maxBytes: 8_000_000,
      sender: { periodMs: 200, leastBytes: 10 },
    });
    const socket = connect(port, '127.0.0.1');
    const closed = closing(socket);
    socket.on('error', () => undefined).resume();
    socket.write(`POST / HTTP/1.1\r\nHost: a\r\n${header}\r\n\r\n`);
    const dripping = setInterval(() => socket.write(`40\r\n${' '.repeat(64)}\r\n`), 10);
    onTestFinished(() => {
      clearInterval(dripping);
      socket.destroy();
    });
    await closed;
    await expect.poll(() => failures).toHaveLength(1);
  },
);

test('a client that keeps the minimum rate is read to the end', async () => {
  const { port, failures } = await serve({
    maxBytes: 10_000,
    sender: { periodMs: 1_500, leastBytes: 10 },
  });
  const socket = connect(port, '127.0.0.1');
  const answered = once(socket, 'data');
  const body = `{}${' '.repeat(60)}`;
  socket.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length * 10}\r\n\r\n`);
  let sent = 0;
  const sending = setInterval(() => {
    socket.write(sent === 0 ? body : ' '.repeat(body.length));
    sent += 1;
    if (sent === 10) clearInterval(sending);
  }, 200);
  onTestFinished(() => {
    clearInterval(sending);
    socket.destroy();
  });
  const [answer] = (await answered) as [Buffer];
  expect([answer.toString('latin1').split('\r\n', 1)[0], failures]).toEqual(['HTTP/1.1 200 OK', []]);
});

test('the wait for memory does not count as the client’s', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const [asked, memory] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const { port, failures } = await serve({
    maxBytes: bytes.length,
    reserve: () => {
      asked.resolve();
      return memory.promise;
    },
  });
  const answer = sendBeforeReading(
    port,
    Buffer.from('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}'),
  );
  await asked.promise;
  // A watch that had begun would run out now.
  vi.advanceTimersByTime(3_600_000);
  memory.resolve();
  expect([await answer, failures]).toEqual(['HTTP/1.1 200 OK', []]);
});
