import { SignJWT, exportJWK, generateKeyPair } from 'jose';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { connectionResources } from '../../../src/accounts/connection-resources.ts';
import { randomBase62 } from '../../../src/kit/ids.ts';
import { parseUsd } from '../../../src/kit/money.ts';
import { createTestDatabase } from '../../cli/test-database.ts';
import { clientKinds } from '../../mcp/clients.ts';
import { openAccount } from '../../mcp/open-account.ts';
import { startTestGateway, type TestGateway } from '../../e2e/start-test-gateway.ts';
import { connectAssistant } from '../../store/connect-assistant.ts';
import { createAssistant, openBrowser } from './assistant.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

const paths = [...connectionResources.keys()];
const profiles = paths.filter((path) => path !== '/mcp/account');

/** Opens the page of consent, and allows all that it offers. Returns the scopes that it offers, and where it leads. */
const allow = async (
  page: URL,
  { url, apiKey } = gateway,
): Promise<{ offered: string[]; end: URL | Response }> => {
  const browser = openBrowser();
  const first = await browser.go(page);
  const entered = new URL(first.headers.get('location')!, url);
  const shown = await browser.go(entered);
  if (shown.status !== 200) return { offered: [], end: await browser.follow(shown, url) };
  const offered = [...(await shown.text()).matchAll(/name="scope"\s+value="(\w+)"/g)].map(
    ([, scope]) => scope!,
  );
  const body = new URLSearchParams([
    ['key', apiKey],
    ['budget_day_usd', '5.00'],
    ['answer', 'allow'],
    ...offered.map((scope): [string, string] => ['scope', scope]),
  ]);
  const answered = await browser.go(entered, { method: 'POST', body });
  return { offered, end: await browser.follow(answered, url) };
};

const connect = async (path: string) => {
  const assistant = createAssistant(gateway.url + path);
  const { page, finish } = await assistant.begin();
  const { offered, end } = await allow(page);
  if (end instanceof Response) throw new Error(`${end.status} ${await end.text()}`);
  await finish(end);
  return { assistant, offered };
};

const listTools = (path: string, token: string) =>
  gateway.call(path, {
    apiKey: token,
    body: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    headers: { accept: 'application/json, text/event-stream' },
  });

describe('each address of connections', () => {
  it.each(paths)('%s has its own metadata, which its challenge names', async (path) => {
    const refused = await gateway.call(path, { apiKey: null, body: {} });
    expect(refused.status).toBe(401);
    const metadata = `${gateway.url}/.well-known/oauth-protected-resource${path}`;
    expect(refused.headers.get('www-authenticate')).toBe(
      `Bearer resource_metadata="${metadata}", scope="${connectionResources.get(path)!.join(' ')}"`,
    );
    const response = await gateway.call(new URL(metadata).pathname, { apiKey: null });
    expect(await response.json()).toMatchObject({
      resource: gateway.url + path,
      authorization_servers: [`${gateway.url}/oauth`],
      scopes_supported: [...connectionResources.get(path)!, 'offline_access'],
    });
  });

  it.each(paths)('%s is opened by its own tokens, and by no others', async (path) => {
    const { assistant, offered } = await connect(path);
    expect(offered).toEqual(connectionResources.get(path));
    for (const other of paths) {
      const response = await listTools(other, assistant.saved.tokens!.access_token);
      expect([other, response.status]).toEqual([other, other === path ? 200 : 401]);
    }
    expect((await gateway.call('/v1/balance', { apiKey: assistant.saved.tokens!.access_token })).status).toBe(
      401,
    );
  });

  it('is not opened by a token that was refreshed for another one', async () => {
    const { assistant } = await connect('/mcp/account/read-only');
    const { tokens, client } = assistant.saved;
    const refreshed = await fetch(`${gateway.url}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'refresh_token',
        refresh_token: tokens!.refresh_token!,
        client_id: client!.client_id,
        resource: `${gateway.url}/mcp/account`,
      }),
    });
    const { access_token: token } = (await refreshed.json()) as { access_token?: string };
    expect((await listTools('/mcp/account', token ?? 'none')).status).toBe(401);
  });

  it('is opened by a token that begins as keys do', async () => {
    const { store, clock } = gateway.services;
    const { accountId } = await openAccount(gateway.services, { amount: parseUsd('1.00'), isSandbox: true });
    const token = `sk_${randomBase62(40)}`;
    await connectAssistant(store, { accountId, now: clock.now(), token });
    expect((await listTools('/mcp/account', token)).status).toBe(200);
  });

  it('is asked for alone: two in one request are refused', async () => {
    const { page } = await createAssistant(`${gateway.url}/mcp/account`).begin();
    page.searchParams.append('resource', `${gateway.url}/mcp/account/read-only`);
    const { end } = await allow(page);
    expect((end as URL).searchParams.get('error')).toBe('invalid_target');
  });

  it('is refused where there is none', async () => {
    const { page } = await createAssistant(`${gateway.url}/mcp/account`).begin();
    page.searchParams.set('resource', `${gateway.url}/mcp/account/other`);
    const answer = await openBrowser().go(page);
    expect(new URL(answer.headers.get('location')!).searchParams.get('error')).toBe('invalid_target');
  });
});

const database = await createTestDatabase();

describe.skipIf(database === null)('an assistant whose name has control characters', () => {
  it('is connected under the rest of its name, also with PostgreSQL, which takes no zero', async () => {
    const other = await startTestGateway({ environment: { DATABASE_URL: database?.url ?? '' } });
    onTestFinished(async () => {
      await other.stop();
      await database?.drop();
    });
    const client_name = 'Assist\u0000ant\u202e';
    const { page, finish } = await createAssistant(`${other.url}/mcp/account`, { client_name }).begin();
    const { end } = await allow(page, other);
    expect(end).toBeInstanceOf(URL);
    await finish(end as URL);
    const listed = await other.call('/v1/connections');
    expect(await listed.json()).toMatchObject({ data: [{ client: 'Assistant', client_name: 'Assistant' }] });
  });
});

describe('the addresses of the authorization server', () => {
  const ask = (method: string, path: string, headers = {}): Promise<Response> =>
    fetch(gateway.url + path, { method, headers, redirect: 'manual' });

  it.each([
    ['PUT', '/oauth/calls/abc', 'GET, HEAD, POST'],
    ['DELETE', '/authorize', 'GET, HEAD, POST'],
    ['POST', '/oauth/authorize/abc', 'GET, HEAD'],
    ['POST', '/.well-known/oauth-protected-resource/mcp/account', 'GET, HEAD'],
    ['PUT', '/.well-known/oauth-authorization-server/oauth', 'GET, HEAD'],
    ['GET', '/oauth/token', 'POST'],
    ['GET', '/register', 'POST'],
  ])('refuse %s at %s, and tell what they take', async (method, path, allow) => {
    const answer = await ask(method, path);
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, allow]);
    expect(answer.headers.get('x-request-id')).toMatch(/^req_/);
    expect(await answer.json()).toMatchObject({ error: { code: 'method_not_allowed' } });
  });

  it.each(['/oauth/none', '/oauth/.well-known/none', '/oauth/authorize/a/b'])(
    'are not %s, where there is nothing',
    async (path) => {
      const answer = await ask('GET', path);
      expect([answer.status, await answer.json()]).toMatchObject([404, { error: { code: 'not_found' } }]);
      expect(answer.headers.get('x-request-id')).toMatch(/^req_/);
    },
  );

  it.each(['/oauth/register', '/register', '/oauth/token', '/oauth/revoke', '/oauth/jwks'])(
    'let programs in web pages of any origin call %s',
    async (path) => {
      const origin = { origin: 'https://assistant.example' };
      const asked = await ask('OPTIONS', path, { ...origin, 'access-control-request-method': 'POST' });
      expect(asked.status).toBe(204);
      expect(asked.headers.get('access-control-allow-headers')).toBe('authorization, *');
      expect(asked.headers.get('access-control-allow-methods')).toBe(
        path.endsWith('jwks') ? 'GET, HEAD' : 'POST',
      );
      const answered = await ask(path.endsWith('jwks') ? 'GET' : 'POST', path, origin);
      expect(['*', origin.origin]).toContain(answered.headers.get('access-control-allow-origin'));
    },
  );

  it('let programs in web pages of any origin read the metadata', async () => {
    const path = '/.well-known/oauth-protected-resource/mcp/account';
    expect((await ask('OPTIONS', path)).headers.get('access-control-allow-headers')).toBe('authorization, *');
    expect((await ask('GET', path)).headers.get('access-control-allow-origin')).toBe('*');
  });
});

describe('what the library could do beside what assistants need', () => {
  it('is not told by the metadata', async () => {
    const metadata = await gateway.call('/.well-known/oauth-authorization-server/oauth', { apiKey: null });
    const told = await metadata.json();
    for (const name of ['pushed_authorization_request_endpoint', 'dpop_signing_alg_values_supported'])
      expect(told).not.toHaveProperty(name);
  });

  it('keeps no request that a stranger pushes, of any length and in any number', async () => {
    const redirect = 'http://127.0.0.1:9/callback';
    const registered = await gateway.call('/register', { apiKey: null, body: { redirect_uris: [redirect] } });
    const { client_id } = (await registered.json()) as { client_id: string };
    const pushed = await fetch(`${gateway.url}/oauth/request`, {
      method: 'POST',
      body: new URLSearchParams({
        client_id,
        redirect_uri: redirect,
        response_type: 'code',
        scope: 'read',
        code_challenge: 'v'.repeat(43),
        code_challenge_method: 'S256',
        state: 'x'.repeat(50_000),
      }),
    });
    expect(pushed.status).toBe(404);
  });

  it('binds no token to a key, as it would be asked for at no address', async () => {
    const { tokens, client } = (await connect('/mcp/account')).assistant.saved;
    const { publicKey, privateKey } = await generateKeyPair('ES256');
    const address = `${gateway.url}/oauth/token`;
    const proof = await new SignJWT({ htm: 'POST', htu: address, jti: 'one' })
      .setProtectedHeader({ alg: 'ES256', typ: 'dpop+jwt', jwk: await exportJWK(publicKey) })
      .setIssuedAt()
      .sign(privateKey);
    const refreshed = await fetch(address, {
      method: 'POST',
      headers: { dpop: proof },
      body: new URLSearchParams({
        grant_type: 'refresh_token',
        refresh_token: tokens!.refresh_token!,
        client_id: client!.client_id,
      }),
    });
    expect(await refreshed.json()).toMatchObject({ token_type: 'Bearer' });
  });
});

describe.each(profiles)('an assistant at %s', (path) => {
  it('sees only tools that read, finds no other, and is told nothing of payments', async () => {
    const { assistant } = await connect(path);
    const client = await assistant.connect();
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain('get_balance');
    for (const { name, annotations } of tools)
      expect([name, annotations?.readOnlyHint]).toEqual([name, true]);
    expect(client.getInstructions()).not.toMatch(/USDC|x402|charged|paid/i);
    expect(JSON.stringify(tools)).not.toMatch(/USDC|x402|top_up/i);
    const input = { model: 'imagemodel-1', prompt: 'A cat' };
    await expect(client.callTool({ name: 'create_image', arguments: input })).rejects.toThrow('Unknown tool');
    const { structuredContent } = await client.callTool({ name: 'get_balance', arguments: {} });
    expect(structuredContent).toMatchObject({ balance_usd: '25.00' });
    await client.close();
  });

  it('may also use an API key', async () => {
    expect((await listTools(path, gateway.apiKey)).status).toBe(200);
  });
});

describe('the search at the directory', () => {
  it('is charged to the balance, and refused without terms of a payment when that is too low', async () => {
    const selling = await startTestGateway({ environment: { SEARCH_FROM_BALANCE: 'on' } });
    onTestFinished(() => selling.stop());
    const { apiKey } = await openAccount(selling.services, { amount: parseUsd('0.11'), isSandbox: true });
    const client = await clientKinds.at(-1)!.connect(`${selling.url}/mcp/account/directory`, apiKey);
    onTestFinished(() => client.close());
    const tools = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain('search_leads');
    expect(JSON.stringify(tools)).not.toMatch(/USDC|x402|top_up/i);
    const search = () => client.callTool('search_leads', { query: 'coffee', limit: 2 });
    expect(await search()).toMatchObject({ isError: false, structuredContent: { count: 2 } });
    expect((await client.callTool('get_balance')).structuredContent).toMatchObject({ balance_usd: '0.01' });
    const refused = await search();
    expect(refused).toMatchObject({
      isError: true,
      structuredContent: { error: { code: 'insufficient_balance' } },
    });
    expect(JSON.stringify(refused)).not.toMatch(/USDC|x402|top_up/i);
  });
});
