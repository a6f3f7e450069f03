import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { buffer, text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import type { Outbound, OutboundFailure } from '../../src/http/outbound.ts';
import { makeCertificate } from './make-certificate.ts';
import { failing, limits, listen, openOutbound, startHttp, startRaw, startTcp } from './local-hosts.ts';

const downloadText = async (outbound: Outbound, url: string): Promise<string> =>
  text((await outbound.download(url, limits)).body);

test('a download brings the content type and the bytes, and asks for them uncompressed', async () => {
  const seen: IncomingMessage['headers'][] = [];
  const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 251));
  const url = await startHttp((request, response) => {
    seen.push(request.headers);
    response.writeHead(200, { 'content-type': 'image/png' }).end(bytes);
  });
  const { contentType, body } = await openOutbound().download(`${url}/a.png?b=c#d`, limits);
  expect(contentType).toBe('image/png');
  expect((await buffer(body)).equals(bytes)).toBe(true);
  expect(seen).toEqual([
    expect.objectContaining({
      'accept-encoding': 'identity',
      'user-agent': 'Causeway',
      host: url.slice('http://'.length),
    }),
  ]);
});

test('a post sends exactly the body and headers it was given, and any status is an answer', async () => {
  const seen: { headers: IncomingMessage['headers']; body: string; method?: string; url?: string }[] = [];
  const url = await startHttp((request, response) => {
    const { headers, method, url } = request;
    void text(request).then((body) => {
      seen.push({ headers, method, url, body });
      response.writeHead(503).end('x'.repeat(1_000_000));
    });
  });
  const headers = { 'content-type': 'application/json', 'x-causeway-signature': 't=1,v1=2' };
  const body = '{"text":"Zoë 🎨"}';
  const answer = await openOutbound().post(`${url}/hook?a=b`, { ...limits, body, headers });
  expect(answer).toEqual({ status: 503 });
  expect(seen).toEqual([
    { method: 'POST', url: '/hook?a=b', body, headers: expect.objectContaining(headers) },
  ]);
});

test('a post names the service, or what its own headers say in whatever case', async () => {
  const seen: string[] = [];
  const url = await startHttp((request, response) => {
    seen.push(...request.rawHeaders.filter((_, index, all) => /^user-agent$/i.test(all[index - 1] ?? '')));
    response.end();
  });
  const outbound = openOutbound();
  await outbound.post(url, { ...limits, body: '{}', headers: {} });
  await outbound.post(url, { ...limits, body: '{}', headers: { 'User-Agent': 'Causeway-Webhooks/1' } });
  expect(seen).toEqual(['Causeway', 'Causeway-Webhooks/1']);
});

test('a post follows no redirect', async () => {
  let calls = 0;
  const url = await startHttp((_request, response) => {
    calls += 1;
    response.writeHead(307, { location: '/elsewhere' }).end();
  });
  const answer = await openOutbound().post(url, { ...limits, body: '{}', headers: {} });
  expect([answer.status, calls]).toEqual([307, 1]);
});

test('a download over TLS checks the certificate against the name in the URL', async () => {
  const authority = makeCertificate({ name: 'Test authority' });
  const { issuer } = authority;
  const leaf = makeCertificate({ name: 'files', hosts: ['files.test'], issuer });
  const server = createHttpsServer({ cert: leaf.cert, key: leaf.key }, (request, response) =>
    response.end(`served ${request.headers.host}`),
  );
  const port = await listen(server);
  onTestFinished(() => {
    server.close();
  });
  const resolve = async (): Promise<string[]> => ['127.0.0.1'];

  const trusting = openOutbound({ resolve, ca: authority.cert });
  expect(await downloadText(trusting, `https://files.test:${port}/`)).toBe(`served files.test:${port}`);
  const post = { ...limits, body: '{}', headers: {} };
  expect(await trusting.post(`https://files.test:${port}/`, post)).toEqual({ status: 200 });

  const otherName = trusting.download(`https://other.test:${port}/`, limits);
  await expect(otherName).rejects.toEqual(failing('bad_certificate'));
  const noName = trusting.download(`https://127.0.0.1:${port}/`, limits);
  await expect(noName).rejects.toEqual(failing('bad_certificate'));
  const unknownAuthority = openOutbound({ resolve }).download(`https://files.test:${port}/`, limits);
  await expect(unknownAuthority).rejects.toEqual(failing('bad_certificate'));

  const past = makeCertificate({
    name: 'files',
    hosts: ['files.test'],
    issuer,
    notAfter: new Date('2021-01-01T00:00:00Z'),
  });
  server.setSecureContext({ cert: past.cert, key: past.key });
  const expired = trusting.download(`https://files.test:${port}/`, limits);
  await expect(expired).rejects.toEqual(failing('bad_certificate'));
});

test('a host that speaks no TLS cannot be reached over https', async () => {
  const { port } = await startTcp((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n'));
  const download = openOutbound().download(`https://127.0.0.1:${port}/`, limits);
  await expect(download).rejects.toEqual(failing('unreachable'));
});

test.each([
  ['a private address', ['10.0.0.1']],
  ['cloud metadata', ['169.254.169.254']],
  ['this machine', ['127.0.0.1']],
  ['this machine over IPv6', ['::1']],
  ['a mapped private address', ['::ffff:10.0.0.1']],
  ['a public and a private address', ['8.8.8.8', '10.0.0.1']],
  ['a public and a private address over IPv6', ['2606:4700:4700::1111', 'fd00::1']],
  ['something that is no address', ['8.8.8.8', 'example.com']],
  ['nothing', []],
])('a name that resolves to %s is not called', async (_what, addresses) => {
  const outbound = openOutbound({ allowsLoopback: false, resolve: async () => addresses });
  await expect(outbound.download('https://name.test/', limits)).rejects.toEqual(failing('not_public'));
  const post = outbound.post('https://name.test/', { ...limits, body: '{}', headers: {} });
  await expect(post).rejects.toEqual(failing('not_public'));
});

test('a name that has no address is unresolved', async () => {
  const download = openOutbound({ allowsLoopback: false }).download('https://nothing.invalid/', limits);
  await expect(download).rejects.toEqual(failing('unresolved'));
});

test('the name "localhost" is this machine without a look-up, and called only where that is allowed', async () => {
  const url = await startHttp((_request, response) => response.end('here'));
  const named = url.replace('127.0.0.1', 'localhost');
  expect(await downloadText(openOutbound(), named)).toBe('here');
  expect(await downloadText(openOutbound(), url.replace('127.0.0.1', 'hooks.localhost.'))).toBe('here');
  const strict = openOutbound({ allowsLoopback: false });
  await expect(strict.download('https://localhost/', limits)).rejects.toEqual(failing('loopback'));
});

test('a name that changes between two calls is looked up and refused anew, and within a call its address is pinned', async () => {
  let calls = 0;
  const url = await startHttp((_request, response) => {
    calls += 1;
    response.end('fine');
  });
  const lookedUp: string[] = [];
  const outbound = openOutbound({
    resolve: async (host) => {
      lookedUp.push(host);
      return lookedUp.length === 1 ? ['127.0.0.1'] : ['10.0.0.1'];
    },
  });
  const named = url.replace('127.0.0.1', 'rebind.test');
  expect(await downloadText(outbound, named)).toBe('fine');
  expect(lookedUp).toEqual(['rebind.test']);
  await expect(outbound.download(named, limits)).rejects.toEqual(failing('not_public'));
  const post = outbound.post(named, { ...limits, body: '{}', headers: {} });
  await expect(post).rejects.toEqual(failing('not_public'));
  expect([lookedUp.length, calls]).toEqual([3, 1]);
});

test('no connection is used a second time', async () => {
  const { port, sockets } = await startTcp((socket) => {
    socket.on('data', () =>
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: keep-alive\r\n\r\nok'),
    );
  });
  const outbound = openOutbound();
  for (const _ of [1, 2, 3]) expect(await downloadText(outbound, `http://127.0.0.1:${port}/`)).toBe('ok');
  expect(sockets.length).toBe(3);
});

test('where one address of a name does not answer, the next one is tried', async () => {
  const url = await startHttp((_request, response) => response.end('fine'));
  const outbound = openOutbound({ resolve: async () => ['::1', '127.0.0.2', '127.0.0.1'] });
  expect(await downloadText(outbound, url.replace('127.0.0.1', 'two.test'))).toBe('fine');
});

test('a host that refuses the connection is unreachable', async () => {
  const server = createHttpServer();
  const port = await listen(server);
  server.close();
  await once(server, 'close');
  const download = openOutbound().download(`http://127.0.0.1:${port}/`, limits);
  await expect(download).rejects.toEqual(failing('unreachable'));
});

test.each([301, 302, 303, 307, 308])('a redirect with status %d is followed', async (status) => {
  const url = await startHttp((request, response) => {
    if (request.url === '/end') response.end(request.method);
    else response.writeHead(status, { location: 'end' }).end('x'.repeat(100_000));
  });
  expect(await downloadText(openOutbound(), `${url}/start`)).toBe('GET');
});

test('three redirects are followed, and a fourth is not', async () => {
  const url = await startHttp((request, response) => {
    const left = Number(request.url?.slice(1));
    if (left === 0) response.end('there');
    else response.writeHead(302, { location: `/${left - 1}` }).end();
  });
  const outbound = openOutbound();
  expect(await downloadText(outbound, `${url}/3`)).toBe('there');
  await expect(outbound.download(`${url}/4`, limits)).rejects.toEqual(failing('too_many_redirects'));
});

test.each<[string, OutboundFailure]>([
  ['http://169.254.169.254/latest/meta-data/', 'not_public'],
  ['https://10.0.0.1/', 'not_public'],
  ['//0xa9fea9fe/', 'not_public'],
  ['https://[fd00:ec2::254]/', 'not_public'],
  ['https://inside.test/', 'not_public'],
  ['http://8.8.8.8/', 'bad_url'],
  ['https://user:pass@8.8.8.8/', 'bad_url'],
  ['file:///etc/passwd', 'bad_url'],
  ['ftp://8.8.8.8/', 'bad_url'],
  [`https://8.8.8.8/${'a'.repeat(9_000)}`, 'bad_url'],
  ['https://[::1', 'bad_status'],
])('a redirect to %s is not followed', async (location, failure) => {
  const url = await startHttp((_request, response) => response.writeHead(302, { location }).end());
  const outbound = openOutbound({ resolve: async () => ['192.168.0.1'] });
  await expect(outbound.download(url, limits)).rejects.toEqual(failing(failure));
});

test('where loopback is not allowed, a redirect cannot lead to it either', async () => {
  const { port, sockets } = await startTcp(() => undefined);
  const outbound = openOutbound({ allowsLoopback: false });
  for (const host of ['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]']) {
    await expect(outbound.download(`http://${host}:${port}/`, limits)).rejects.toEqual(failing('loopback'));
    await expect(outbound.download(`https://${host}:${port}/`, limits)).rejects.toEqual(failing('loopback'));
  }
  expect(sockets).toEqual([]);
});

test.each([199, 300, 304, 400, 404, 500, 599])('status %d is not a download', async (status) => {
  const url = await startRaw(`HTTP/1.1 ${status} Word\r\ncontent-length: 0\r\n\r\n`, (socket) =>
    socket.end(),
  );
  const download = openOutbound().download(url, limits);
  await expect(download).rejects.toEqual(failing(status === 199 ? 'broken_off' : 'bad_status'));
});

test('a redirect without a target is not a download', async () => {
  const url = await startRaw('HTTP/1.1 302 Found\r\ncontent-length: 0\r\n\r\n');
  await expect(openOutbound().download(url, limits)).rejects.toEqual(failing('bad_status'));
});

test('an answer that comes compressed is refused', async () => {
  const url = await startHttp((_request, response) =>
    response.writeHead(200, { 'content-encoding': 'gzip' }).end('x'),
  );
  await expect(openOutbound().download(url, limits)).rejects.toEqual(failing('encoded'));
});

test('an answer that claims to be too large is refused before its body', async () => {
  const url = await startRaw('HTTP/1.1 200 OK\r\ncontent-length: 1000001\r\n\r\n');
  await expect(openOutbound().download(url, limits)).rejects.toEqual(failing('too_large'));
});

test('a body of just the allowed size is read whole, and one byte more is too large', async () => {
  const url = await startHttp((_request, response) => response.end(Buffer.alloc(50_000)));
  const chunked = await startHttp((_request, response) => {
    response.write(Buffer.alloc(25_000));
    response.end(Buffer.alloc(25_000));
  });
  for (const each of [url, chunked]) {
    const outbound = openOutbound();
    const whole = await outbound.download(each, { ...limits, maxBytes: 50_000 });
    expect((await buffer(whole.body)).length).toBe(50_000);
    const tooMuch = outbound
      .download(each, { ...limits, maxBytes: 49_999 })
      .then(async ({ body }) => buffer(body));
    await expect(tooMuch).rejects.toEqual(failing('too_large'));
  }
});
