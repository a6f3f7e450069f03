import { once } from 'node:events';
import type { Socket } from 'node:net';
import { buffer, text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { expect, test } from 'vitest';
import type { Outbound } from '../../src/http/outbound.ts';
import { failing, limits, openOutbound, startHttp, startRaw, startTcp } from './local-hosts.ts';

const downloadBytes = async (outbound: Outbound, url: string, changes: object = {}): Promise<Buffer> =>
  buffer((await outbound.download(url, { ...limits, ...changes })).body);

const post = { ...limits, body: '{}', headers: {} };

/** Says the same again and again until the caller hangs up. */
const repeating = (words: string) => (socket: Socket) => {
  const timer = setInterval(() => socket.write(words), 20);
  socket.on('close', () => clearInterval(timer));
};

test('an endless body is cut off at the limit, and the connection ended', async () => {
  const hungUp = Promise.withResolvers<void>();
  const url = await startHttp((_request, response) => {
    const more = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536)));
    };
    response.on('drain', more).on('close', hungUp.resolve);
    more();
  });
  const { body } = await openOutbound().download(url, limits);
  let bytes = 0;
  const count = async (chunks: AsyncIterable<Buffer>): Promise<void> => {
    for await (const chunk of chunks) bytes += chunk.length;
  };
  await expect(pipeline(body, count)).rejects.toEqual(failing('too_large'));
  expect(bytes).toBeLessThanOrEqual(limits.maxBytes);
  await hungUp.promise;
});

test.each([
  ['a status that is no download', 404, {}],
  ['a redirect', 302, { location: 'file:///etc/passwd' }],
  ['a body that is compressed', 200, { 'content-encoding': 'br' }],
  ['a body that claims to be too large', 200, { 'content-length': '1000001' }],
])('a host is hung up on after %s, whatever it still sends', async (_what, status, headers) => {
  const hungUp = Promise.withResolvers<void>();
  const url = await startHttp((_request, response) => {
    response.on('close', hungUp.resolve).writeHead(status, headers).write('x');
  });
  await expect(openOutbound().download(url, limits)).rejects.toThrow(/./);
  await hungUp.promise;
});

test('a post gives its place back, answered or not', async () => {
  const url = await startHttp((_request, response) => response.writeHead(200).write('x'));
  const outbound = openOutbound({ atOnce: 1, waiting: 0 });
  expect(await outbound.post(url, post)).toEqual({ status: 200 });
  await expect(outbound.post('https://localhost:1/', post)).rejects.toEqual(failing('unreachable'));
  expect(await outbound.post(url, post)).toEqual({ status: 200 });
});

test.each([
  ['accepts the connection and says nothing', () => startRaw('')],
  ['drips its headers', () => startRaw('HTTP/1.1 200 OK\r\nx-slow: ', repeating('a'))],
  ['sends interim answers for ever', () => startRaw('', repeating('HTTP/1.1 103 Early Hints\r\n\r\n'))],
])('a host that %s runs out of time', async (_what, start) => {
  const outbound = openOutbound();
  const url = await start();
  await expect(outbound.download(url, { ...limits, totalMs: 300 })).rejects.toEqual(failing('timeout'));
  await expect(outbound.post(url, { ...post, totalMs: 300 })).rejects.toEqual(failing('timeout'));
});

test('a host that never finishes the TLS handshake runs out of time, and is hung up on', async () => {
  const { port, sockets } = await startTcp(() => undefined);
  const download = openOutbound().download(`https://127.0.0.1:${port}/`, { ...limits, totalMs: 300 });
  await expect(download).rejects.toEqual(failing('timeout'));
  const [socket] = sockets;
  if (socket?.destroyed === false) await once(socket.resume(), 'close');
});

test('a name whose look-up never ends runs out of time', async () => {
  const outbound = openOutbound({
    resolve: (_host, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
      }),
  });
  const download = outbound.download('https://slow.test/', { ...limits, totalMs: 100 });
  await expect(download).rejects.toEqual(failing('timeout'));
});

test('a body that drips runs out of time', async () => {
  const url = await startRaw('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n', repeating('a'));
  const download = downloadBytes(openOutbound(), url, { totalMs: 400 });
  await expect(download).rejects.toEqual(failing('timeout'));
});

test.each([
  [
    'reset',
    'HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nabc',
    (socket: Socket) => socket.resetAndDestroy(),
  ],
  ['ended', 'HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nabc', (socket: Socket) => socket.end()],
  [
    'ended',
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n',
    (socket: Socket) => socket.end(),
  ],
  ['made nonsense', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nabc', () => undefined],
])('a body that is %s midway has broken off', async (_what, answer, andThen) => {
  // A moment later, so that the answer's beginning arrives.
  const url = await startRaw(answer, (socket) => setTimeout(() => andThen(socket), 50));
  await expect(downloadBytes(openOutbound(), url)).rejects.toEqual(failing('broken_off'));
});

test.each([
  ['reset', '', (socket: Socket) => socket.resetAndDestroy()],
  ['ended', '', (socket: Socket) => socket.end()],
  ['ended in the headers', 'HTTP/1.1 200 OK\r\ncontent-', (socket: Socket) => socket.end()],
  ['answered in another language', 'SSH-2.0-OpenSSH_9.6\r\n', () => undefined],
  ['answered with headers without end', `HTTP/1.1 200 OK\r\nx: ${'a'.repeat(100_000)}`, () => undefined],
])('a call that is %s has broken off', async (_what, answer, andThen) => {
  const url = await startRaw(answer, andThen);
  await expect(openOutbound().download(url, limits)).rejects.toEqual(failing('broken_off'));
  await expect(openOutbound().post(url, post)).rejects.toEqual(failing('broken_off'));
});

test('a reader that comes after the failure finds it', async () => {
  const url = await startRaw('HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nabc');
  const { body } = await openOutbound().download(url, { ...limits, totalMs: 1_000 });
  await once(body, 'close').catch(() => undefined);
  await expect(buffer(body)).rejects.toEqual(failing('timeout'));
});

test('a caller that goes away ends its call with its own reason, wherever that stands', async () => {
  const reason = new Error('not wanted any more');
  const called = Promise.withResolvers<void>();
  const silent = await startRaw('', () => called.resolve());
  const outbound = openOutbound({ atOnce: 1, waiting: 1 });
  const abort = new AbortController();
  const { signal } = abort;
  const running = outbound.download(silent, { ...limits, signal });
  const inLine = outbound.download(silent, { ...limits, signal });
  const connecting = outbound.post(silent.replace('http:', 'https:'), { ...post, signal });
  const ends = Promise.allSettled([running, inLine, connecting]);
  await called.promise;
  abort.abort(reason);
  const rejected = { status: 'rejected', reason };
  expect(await ends).toEqual([rejected, rejected, rejected]);
  await expect(outbound.download(silent, { ...limits, signal })).rejects.toBe(reason);
});

test('a caller that goes away during the look-up makes no connection', async () => {
  const reason = new Error('not wanted any more');
  const { port, sockets } = await startTcp(() => undefined);
  const abort = new AbortController();
  const outbound = openOutbound({
    resolve: async () => {
      abort.abort(reason);
      return ['127.0.0.1'];
    },
  });
  const url = `http://slow.test:${port}/`;
  await expect(outbound.download(url, { ...limits, signal: abort.signal })).rejects.toBe(reason);
  await expect(outbound.post(`http://127.0.0.1:${port}/`, { ...post, totalMs: 1_000 })).rejects.toEqual(
    failing('timeout'),
  );
  expect(sockets.length).toBe(1);
});

test('a caller that goes away while it reads finds its own reason in the body', async () => {
  const reason = new Error('not wanted any more');
  const url = await startRaw('HTTP/1.1 200 OK\r\n\r\n', repeating('a'));
  const abort = new AbortController();
  const { body } = await openOutbound().download(url, { ...limits, signal: abort.signal });
  body.once('data', () => abort.abort(reason));
  await expect(buffer(body)).rejects.toBe(reason);
});

test('calls beyond the limit wait in a line of limited length, until a body is read, refused or thrown away', async () => {
  const url = await startHttp((request, response) => {
    response.writeHead(request.url === '/missing' ? 404 : 200).end('fine');
  });
  const outbound = openOutbound({ atOnce: 1, waiting: 1 });
  const held = await outbound.download(url, limits);
  const second = outbound.download(url, limits);
  await expect(outbound.download(url, limits)).rejects.toEqual(failing('busy'));
  // Posts have a line of their own.
  expect(await outbound.post(url, post)).toEqual({ status: 200 });
  expect(await text(held.body)).toBe('fine');
  (await second).body.destroy();
  await expect(outbound.download(`${url}/missing`, limits)).rejects.toEqual(failing('bad_status'));
  await expect(outbound.download('https://10.0.0.1/', limits)).rejects.toEqual(failing('not_public'));
  expect((await downloadBytes(outbound, url)).toString()).toBe('fine');
});

test('a body that nobody reads gives its place back when its time is over', async () => {
  const url = await startHttp((_request, response) => response.end(Buffer.alloc(900_000)));
  const outbound = openOutbound({ atOnce: 1, waiting: 1 });
  await outbound.download(url, { ...limits, totalMs: 1_000 });
  expect((await downloadBytes(outbound, url)).length).toBe(900_000);
});

test('after the end of the process began, calls are refused and running ones end', async () => {
  const outbound = openOutbound();
  const silent = await startRaw('');
  const running = outbound.download(silent, limits);
  const end = running.catch((error: unknown) => error);
  await outbound.close();
  expect(await end).toEqual(failing('busy'));
  await expect(outbound.post(silent, post)).rejects.toEqual(failing('busy'));
});
