import { expect, it, onTestFinished } from 'vitest';
import { createRecordedLog } from '../limits/recorded-log.ts';
import { openAccount } from '../mcp/open-account.ts';
import { acceptToolsOf } from './accept-tools.ts';
import { startHttpMcp, type SeenRequest } from './http-mcp-server.ts';
import { startMountingGateway } from './start-mounting-gateway.ts';

const ours = 'token-of-the-operator';
const theirs = ['token-of-the-first', 'token-of-the-second'] as const;

const start = async (isTaken: (request: SeenRequest) => boolean = () => true) => {
  const server = await startHttpMcp((request, response) => {
    if (isTaken(request)) return false;
    response.writeHead(401).end(request.headers.authorization);
    return true;
  });
  const { log, lines } = createRecordedLog();
  const gateway = await startMountingGateway(
    { remote: { url: `${server.origin}/mcp`, private: true, bearer_env: 'TOKEN', per_account: ['TOKEN'] } },
    { TOKEN: ours, TOOLS_SECRETS_KEY: '0c'.repeat(32) },
    log,
  );
  onTestFinished(() => gateway.stop());
  await acceptToolsOf(gateway.services, 'remote');
  const set = (TOKEN: string, apiKey = gateway.apiKey): Promise<Response> =>
    gateway.call('/v1/tools/remote/secrets', { method: 'PUT', body: { secrets: { TOKEN } }, apiKey });
  const call = (apiKey = gateway.apiKey): Promise<Response> =>
    gateway.call('/v1/tools/remote/echo', { body: {}, apiKey });
  return { gateway, seen: server.seen, lines, set, call };
};

const callsOf = (seen: readonly SeenRequest[]): (string | undefined)[] =>
  seen.filter(({ body }) => body.includes('tools/call')).map(({ headers }) => headers.authorization);

it('is called with the secret of the account that calls, in place of that of the operator', async () => {
  const { gateway, seen, lines, set, call } = await start();
  const { apiKey: second } = await openAccount(gateway.services);
  expect((await call()).status).toBe(400);
  expect((await set(theirs[0])).status).toBe(200);
  expect((await set(theirs[1], second)).status).toBe(200);
  for (const key of [gateway.apiKey, second, gateway.apiKey]) expect((await call(key)).status).toBe(200);
  expect(callsOf(seen)).toEqual([theirs[0], theirs[1], theirs[0]].map((token) => `Bearer ${token}`));
  const [listing] = seen.filter(({ body }) => body.includes('tools/list'));
  expect(listing?.headers.authorization).toBe(`Bearer ${ours}`);
  for (const token of [ours, ...theirs]) expect(JSON.stringify(lines)).not.toContain(token);
});

it('takes a new secret with the next call', async () => {
  const { seen, set, call } = await start();
  for (const token of theirs) {
    await set(token);
    expect((await call()).status).toBe(200);
  }
  expect(callsOf(seen)).toEqual(theirs.map((token) => `Bearer ${token}`));
});

it('says that a secret may be wrong where the server refuses it, and tells it to nobody', async () => {
  const { lines, set, call } = await start(({ headers }) => headers.authorization !== `Bearer ${theirs[0]}`);
  await set(theirs[0]);
  const answer = await call();
  expect(answer.status).toBe(503);
  const text = await answer.text();
  expect(text).toContain('or refuses the secrets that you set');
  expect(text + JSON.stringify(lines)).not.toContain(theirs[0]);
});

it('takes no secret that cannot stand in a header', async () => {
  const { set } = await start();
  const answer = await set('two\r\nlines');
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({
    error: { message: expect.stringContaining('TOKEN must be printable ASCII') },
  });
});
