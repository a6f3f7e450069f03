import { expect, it, onTestFinished } from 'vitest';
import { createRecordedLog } from '../limits/recorded-log.ts';
import { acceptToolsOf } from './accept-tools.ts';
import { startHttpMcp } from './http-mcp-server.ts';
import { freePort, startEverything } from './start-everything.ts';
import { startMountingGateway } from './start-mounting-gateway.ts';

it('is reached by Streamable HTTP, and connects anew, once, when it has lost its session', async () => {
  const port = await freePort();
  let server = await startEverything('streamableHttp', port);
  const gateway = await startMountingGateway({
    remote: { url: `http://127.0.0.1:${port}/mcp`, private: true, prices: { echo: 1 } },
  });
  onTestFinished(() => gateway.stop());
  await acceptToolsOf(gateway.services, 'remote');
  const echo = (): Promise<Response> =>
    gateway.call('/v1/tools/remote/echo', { body: { arguments: { message: 'x' } } });
  const first = await echo();
  expect(await first.json()).toMatchObject({ content: [{ type: 'text', text: 'Echo: x' }] });
  expect(first.headers.get('x-causeway-charge-usd')).toBe('1.00');

  await server.stop();
  const away = await echo();
  expect(away.status).toBe(503);
  expect(away.headers.get('x-causeway-charge-usd')).toBe('0.00');
  server = await startEverything('streamableHttp', port);
  await expect.poll(async () => (await echo()).status, { timeout: 60_000 }).toBe(200);

  await server.stop();
  server = await startEverything('streamableHttp', port);
  // The server answers 400 to its old session. On a slow machine the call does not wait for the next one.
  await expect.poll(async () => (await echo()).status, { timeout: 60_000 }).toBe(200);
});

it('answers the calls under way when another one has lost its session', async () => {
  const [isSlow, mayEnd] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let sessions = 0;
  const { origin } = await startHttpMcp(({ headers, body }, response) => {
    const isFirst = headers['mcp-session-id'] === 'session-1';
    if (body.includes('"initialize"')) response.setHeader('mcp-session-id', `session-${(sessions += 1)}`);
    if (body.includes('slow')) {
      isSlow.resolve();
      void mayEnd.promise.then(() => {
        const result = { content: [{ type: 'text', text: 'slow' }] };
        response
          .writeHead(200, { 'content-type': 'application/json' })
          .end(JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(body).id, result }));
      });
      return true;
    }
    if (!isFirst || !body.includes('tools/call')) return false;
    response.writeHead(404).end();
    return true;
  });
  const gateway = await startMountingGateway({ remote: { url: `${origin}/mcp`, private: true } });
  onTestFinished(() => gateway.stop());
  await acceptToolsOf(gateway.services, 'remote');
  const echo = (message: string): Promise<Response> =>
    gateway.call('/v1/tools/remote/echo', { body: { arguments: { message } } });
  const slow = echo('slow');
  await isSlow.promise;
  expect(await (await echo('quick')).json()).toMatchObject({ content: [{ text: 'ran echo' }] });
  mayEnd.resolve();
  expect(await (await slow).json()).toMatchObject({ content: [{ text: 'slow' }] });
  expect(sessions).toBe(2);
});

it('is reached by the old transport, and is back after it was killed', async () => {
  const port = await freePort();
  const server = await startEverything('sse', port);
  const gateway = await startMountingGateway({
    old: { url: `http://127.0.0.1:${port}/sse`, private: true, transport: 'sse' },
  });
  onTestFinished(() => gateway.stop());
  await acceptToolsOf(gateway.services, 'old');
  const echo = (): Promise<Response> =>
    gateway.call('/v1/tools/old/echo', { body: { arguments: { message: 'x' } } });
  expect(await (await echo()).json()).toMatchObject({ content: [{ text: 'Echo: x' }] });
  await server.stop();
  await expect.poll(async () => (await echo()).status, { timeout: 30_000 }).toBe(503);
  await startEverything('sse', port);
  await expect.poll(async () => (await echo()).status, { timeout: 60_000 }).toBe(200);
});

it('tells nobody the credentials that it was given', async () => {
  const token = 'token-of-the-operator';
  let isRefusing = false;
  const { origin, seen } = await startHttpMcp(({ headers, body }, response) => {
    if (!isRefusing || !body.includes('tools/')) return false;
    const status = body.includes('tools/call') ? 500 : 400;
    response.writeHead(status, { 'www-authenticate': headers.authorization }).end(headers.authorization);
    return true;
  });
  const { log, lines } = createRecordedLog();
  const gateway = await startMountingGateway(
    { remote: { url: `${origin}/mcp`, private: true, bearer_env: 'TOKEN' } },
    { TOKEN: token },
    log,
  );
  onTestFinished(() => gateway.stop());
  await acceptToolsOf(gateway.services, 'remote');
  isRefusing = true;
  const answer = await gateway.call('/v1/tools/remote/echo', { body: {} });
  expect(answer.status).toBe(502);
  expect(await answer.text()).not.toContain(token);
  await expect.poll(() => JSON.stringify(lines)).toContain('the server answered with status 500');
  await expect.poll(() => JSON.stringify(lines)).toContain('the server answered with status 400');
  expect(JSON.stringify(lines)).not.toContain(token);
  expect(seen.at(-1)?.headers.authorization).toBe(`Bearer ${token}`);
});

it('tells nobody the credentials that its error repeats', async () => {
  const token = 'token-of-the-operator';
  const { origin } = await startHttpMcp(({ headers, body }, response) => {
    if (!body.includes('tools/call')) return false;
    const error = { code: -32_602, message: `${headers.authorization} is wrong` };
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', id: JSON.parse(body).id, error }));
    return true;
  });
  const gateway = await startMountingGateway(
    { remote: { url: `${origin}/mcp`, private: true, bearer_env: 'TOKEN' } },
    { TOKEN: token },
  );
  onTestFinished(() => gateway.stop());
  await acceptToolsOf(gateway.services, 'remote');
  const answer = await gateway.call('/v1/tools/remote/echo', { body: {} });
  expect(await answer.json()).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining('Bearer [authorization] is wrong') }],
  });
});

it('is never sent the key of a caller', async () => {
  const { origin, seen } = await startHttpMcp();
  const gateway = await startMountingGateway({ remote: { url: `${origin}/mcp`, private: true } });
  onTestFinished(() => gateway.stop());
  await acceptToolsOf(gateway.services, 'remote');
  expect((await gateway.call('/v1/tools/remote/echo', { body: {} })).status).toBe(200);
  expect(JSON.stringify(seen)).not.toContain(gateway.apiKey);
  expect(seen.every(({ headers }) => headers.authorization === undefined)).toBe(true);
});

it('is not reached at a private address that the operator did not allow', async () => {
  const port = await freePort();
  const gateway = await startMountingGateway({ remote: { url: `http://127.0.0.1:${port}/mcp` } });
  onTestFinished(() => gateway.stop());
  const list = await gateway.call('/v1/tools');
  expect(await list.json()).toEqual({ tools: [] });
  expect(gateway.services.mounts.restMs({ server: 'remote', accountId: 'account' })).not.toBeNull();
});
