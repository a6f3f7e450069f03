import { setTimeout as delay } from 'node:timers/promises';
import { buffer, text } from 'node:stream/consumers';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createHttpClient, type HttpClient } from '../../src/http/http-client.ts';
import { type AnswerHead, type BodyLimits, type HttpRequest, readText } from '../../src/http/send-request.ts';
import { makeCertificate } from './make-certificate.ts';
import { createSecureServer } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import { connect } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { deflateSync, gzipSync } from 'node:zlib';
import { failing, listen, startHttp, startRaw, startTcp } from './local-hosts.ts';

declare module 'node:tls' {
  function setDefaultCACertificates(certificates: readonly string[]): void;
}

const openClient = (options: Partial<Parameters<typeof createHttpClient>[0]> = {}): HttpClient => {
  const client = createHttpClient({ connectMs: 5_000, ...options });
  onTestFinished(() => client.close());
  return client;
};

/** Of a call that nothing is to be in the way of. */
const patient: HttpRequest = { timeouts: { totalMs: 20_000 }, limits: { totalBytes: 1_000_000 } };

const get = async (client: HttpClient, url: string, changes: Partial<HttpRequest> = {}): Promise<Buffer> =>
  buffer((await client.send(url, { ...patient, ...changes })).body);

test('an answer that is too large is refused without an error beside, also when all of it has come already', async () => {
  const url = await startHttp((_, response) => response.end('x'.repeat(3000)));
  const uncaught = vi.fn<(error: unknown) => void>();
  process.on('uncaughtException', uncaught);
  onTestFinished(() => void process.off('uncaughtException', uncaught));
  const { body } = await openClient().send(url, { ...patient, limits: { totalBytes: 2048 } });
  const read = async (): Promise<void> => {
    for await (const chunk of body) expect(chunk.length).toBeLessThanOrEqual(2048);
  };
  await expect(read()).rejects.toEqual(failing('too_large'));
  await delay(50);
  expect(uncaught).not.toHaveBeenCalled();
});

test('a line that is too long is refused, and lines that are short enough are not', async () => {
  const url = await startHttp((request, response) =>
    response.end((request.url === '/long' ? 'x'.repeat(99) : `${'x'.repeat(9)}\n`).repeat(20)),
  );
  const limits = () => ({ totalBytes: 1_000_000, lineBytes: 1_000 });
  expect((await get(openClient(), `${url}/short`, { limits })).length).toBe(200);
  await expect(get(openClient(), `${url}/long`, { limits })).rejects.toEqual(failing('too_large'));
});

test('the limits are chosen by the head of the answer', async () => {
  const url = await startHttp((_request, response) => response.writeHead(503, { 'x-a': 'b' }).end('abc'));
  const limits = vi.fn<(head: AnswerHead) => BodyLimits>(() => ({ totalBytes: 2 }));
  await expect(get(openClient(), url, { limits })).rejects.toEqual(failing('too_large'));
  expect(limits).toHaveBeenCalledWith({ status: 503, headers: expect.objectContaining({ 'x-a': 'b' }) });
});

test.each([
  ['no byte comes', '', { firstByteMs: 50 }],
  ['no byte of the body comes', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n', { firstByteMs: 50 }],
  ['nothing more comes', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nbegin', { idleMs: 50 }],
  ['the end does not come', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nbegin', { totalMs: 50 }],
])('an answer of which %s in time fails', async (_what, answer, timeouts) => {
  const url = await startRaw(answer);
  await expect(get(openClient(), url, { timeouts })).rejects.toEqual(failing('timeout'));
});

test('a slow reader is not taken for a silent host', async () => {
  const bytes = Buffer.alloc(8 * 1024 ** 2, 'a');
  const url = await startHttp((_request, response) => response.end(bytes));
  const { body } = await openClient().send(url, {
    timeouts: { idleMs: 1_000 },
    limits: { totalBytes: Infinity },
  });
  let length = 0;
  let count = 0;
  for await (const chunk of body) {
    length += chunk.length;
    count += 1;
    if (count === 1) await delay(1_500);
  }
  expect(length).toBe(bytes.length);
});

test('an abort is heard while a connection is being made, and a connection has its own limit of time', async () => {
  // Takes the connection and never shakes hands.
  const { port } = await startTcp(() => undefined);
  const url = `https://127.0.0.1:${port}/`;
  const stop = new AbortController();
  const reason = new Error('the caller has gone');
  const asked = get(openClient(), url, { signal: stop.signal });
  setTimeout(() => stop.abort(reason), 20);
  await expect(asked).rejects.toBe(reason);
  await expect(get(openClient({ connectMs: 50 }), url)).rejects.toEqual(failing('unreachable'));
});

test('an aborted signal sends nothing', async () => {
  let calls = 0;
  const url = await startHttp((_request, response) => {
    calls += 1;
    response.end();
  });
  const reason = new Error('too late');
  await expect(get(openClient(), url, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  expect(calls).toBe(0);
});

test('nothing is sent to a host whose certificate is not to be trusted', async () => {
  const { cert, key } = makeCertificate({ name: 'somebody', hosts: ['somebody.test'] });
  let calls = 0;
  const server = createHttpsServer({ cert, key }, (_request, response) => {
    calls += 1;
    response.end();
  });
  const port = await listen(server);
  onTestFinished(() => void server.close());
  await expect(get(openClient(), `https://127.0.0.1:${port}/`)).rejects.toEqual(failing('bad_certificate'));
  expect(calls).toBe(0);
});

test('connections are used again', async () => {
  const sockets = new Set<unknown>();
  const url = await startHttp((request, response) => {
    sockets.add(request.socket);
    response.end('ok');
  });
  const client = openClient();
  for (let count = 0; count < 10; count += 1) await get(client, url);
  expect(sockets.size).toBeLessThanOrEqual(3);
});

test('a connection that dies in silence holds up no later call, also at a host that speaks HTTP/2', async () => {
  const authority = makeCertificate({ name: 'authority' });
  const certified = makeCertificate({ name: 'host', hosts: ['localhost'], issuer: authority.issuer });
  const usual = getCACertificates('default');
  setDefaultCACertificates([authority.cert]);
  onTestFinished(() => setDefaultCACertificates(usual));
  const host = createSecureServer({ ...certified, allowHTTP1: true }, (_, response) => response.end('ok'));
  const port = await listen(host);
  onTestFinished(() => void host.close());
  const dead = new Set<unknown>();
  const relay = await startTcp((socket) => {
    const inner = connect(port, '127.0.0.1').on('error', () => undefined);
    socket.on('data', (data) => dead.has(socket) || inner.write(data)).on('close', () => inner.destroy());
    inner.on('data', (data) => dead.has(socket) || socket.write(data));
  });
  const client = openClient();
  const ask = (changes: Partial<HttpRequest> = {}) =>
    get(client, `https://localhost:${relay.port}/`, changes);
  expect(await ask()).toEqual(Buffer.from('ok'));
  for (const socket of relay.sockets) dead.add(socket);
  // One of these hears nothing over the dead connection.
  for (let count = 0; count < 3; count += 1)
    await ask({ timeouts: { firstByteMs: 50 } }).catch(() => undefined);
  expect(await ask()).toEqual(Buffer.from('ok'));
});

test('a redirect is an answer, and is followed with method and body where that is asked for', async () => {
  const url = await startHttp((request, response) => {
    if (request.url === '/end') void text(request).then((body) => response.end(`${request.method} ${body}`));
    else response.writeHead(308, { location: '/end' }).end();
  });
  const post = { ...patient, method: 'POST', body: 'question' } as const;
  const plain = await openClient().send(url, post);
  plain.body.destroy();
  expect([plain.status, plain.headers['location']]).toEqual([308, '/end']);
  const followed = await openClient({ maxRedirects: 3 }).send(url, post);
  expect([followed.status, await followed.body.text()]).toEqual([200, 'POST question']);
});

test.each([
  ['gzip', gzipSync],
  ['deflate', deflateSync],
] as const)(
  'a text that comes as %s although nobody asked is decoded, up to its limit',
  async (encoding, encode) => {
    const url = await startHttp((_request, response) =>
      response.writeHead(200, { 'content-encoding': encoding }).end(encode('{"success":true}'.padEnd(1_000))),
    );
    const client = openClient();
    const read = async (maxBytes: number): Promise<string> =>
      readText(await client.send(url, patient), maxBytes);
    expect(JSON.parse(await read(1_000))).toEqual({ success: true });
    await expect(read(999)).rejects.toThrow('Cannot create a Buffer larger than 999 bytes');
  },
);
