import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { issueOperator, signInTo, type ConsoleClient } from './console-client.ts';
import { openAccount } from '../../mcp/open-account.ts';
import { startTestGateway, type TestGateway } from '../../e2e/start-test-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

const openCustomer = async (): Promise<ConsoleClient & { apiKey: string; accountId: string }> => {
  const account = await openAccount(gateway.services);
  return { ...account, ...(await signInTo(gateway.url, account.apiKey)) };
};
const openOperator = async (): Promise<ConsoleClient & { id: string }> => {
  const { id, key } = await issueOperator(gateway.services);
  return { id, ...(await signInTo(gateway.url, key)) };
};
const codeOf = async (answer: Response): Promise<[number, string]> => [
  answer.status,
  ((await answer.json()) as { error: { code: string } }).error.code,
];

describe('a session of the console', () => {
  it('calls what its key can call, and says who is signed in', async () => {
    const { call, cookie, accountId } = await openCustomer();
    expect(cookie).toMatch(/^__Host-causeway-console=\w{43}$/);
    const balance = await call('/console/v1/balance');
    expect(balance.headers.get('access-control-allow-origin')).toBeNull();
    expect(await balance.json()).toMatchObject({ balance_usd: '10.00' });
    expect(await (await call('/console/session')).json()).toEqual({
      customer: true,
      operator: null,
      wallets: false,
      cards: false,
    });
    const image = await call('/console/v1/images/generations', {
      body: { model: 'imagemodel-1.0', prompt: 'A pier' },
    });
    expect(image.status).toBe(200);
    const operator = await openOperator();
    const { account } = (await (await operator.call(`/console/admin/v1/accounts/${accountId}`)).json()) as {
      account: object;
    };
    expect(account).toMatchObject({ balance_usd: '9.96' });
    expect(await (await operator.call('/console/session')).json()).toEqual({
      customer: false,
      operator: 'write',
      wallets: false,
      cards: false,
    });
  });

  it('has a cookie for this host alone, which no script reads', async () => {
    const { setCookie } = await openCustomer();
    expect(setCookie.replace(/=\w{43}/, '=…')).toBe(
      '__Host-causeway-console=…; Path=/; Max-Age=43200; HttpOnly; Secure; SameSite=Strict',
    );
  });

  it('counts nowhere but below /console', async () => {
    const [customer, operator] = [await openCustomer(), await openOperator()];
    for (const [{ cookie }, path] of [
      [customer, '/v1/balance'],
      [customer, '/v1/keys'],
      [operator, '/admin/v1/accounts'],
    ] as const) {
      const headers = { cookie, 'sec-fetch-site': 'same-origin', origin: gateway.url };
      expect(await codeOf(await gateway.call(path, { apiKey: null, headers }))).toEqual([
        401,
        'invalid_api_key',
      ]);
    }
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'get_balance' } };
    const headers = { cookie: customer.cookie, accept: 'application/json, text/event-stream' };
    const tool = await (await gateway.call('/mcp', { apiKey: null, headers, body })).text();
    expect(tool).toContain('invalid_api_key');
    const connection = await gateway.call('/mcp/account', { apiKey: null, headers, body });
    expect(connection.status).toBe(401);
    const page = await gateway.call('/oauth/userinfo', {
      apiKey: null,
      headers: { cookie: customer.cookie },
    });
    expect(page.status).toBeGreaterThanOrEqual(400);
  });

  it('is of one role, and a key in a header counts for nothing there', async () => {
    const [customer, operator] = [await openCustomer(), await openOperator()];
    const ended = [401, 'invalid_api_key'];
    expect(await codeOf(await customer.call('/console/admin/v1/accounts'))).toEqual(ended);
    expect(await codeOf(await operator.call('/console/v1/balance'))).toEqual(ended);
    const renamed = customer.cookie.replace('console', 'operator');
    expect(
      await codeOf(await customer.call('/console/admin/v1/accounts', { headers: { cookie: renamed } })),
    ).toEqual(ended);
    const headers = { authorization: `Bearer ${customer.apiKey}`, cookie: '' };
    expect(await codeOf(await customer.call('/console/v1/balance', { headers }))).toEqual(ended);
  });

  it('answers no page of another origin, and no program without a page', async () => {
    const { call, cookie } = await openCustomer();
    const refused = [403, 'permission_denied'];
    const foreign = 'https://evil.example';
    for (const [path, options] of [
      ['/console/v1/keys', { body: {}, headers: { origin: foreign } }],
      ['/console/v1/keys', { body: {}, headers: { origin: 'null' } }],
      ['/console/session', { body: { key: 'x' }, headers: { origin: foreign } }],
      ['/console/session', { method: 'DELETE', headers: { origin: foreign } }],
      ['/console/v1/balance', { headers: { 'sec-fetch-site': 'cross-site' } }],
      ['/console/v1/balance', { headers: { 'sec-fetch-site': 'same-site' } }],
      ['/console/v1/search/leads', { headers: { 'sec-fetch-site': 'none' } }],
    ] as const)
      expect(await codeOf(await call(path, options))).toEqual(refused);
    const bare = (headers: Record<string, string>) =>
      fetch(`${gateway.url}/console/v1/balance`, { headers: { cookie, ...headers } });
    expect((await bare({})).status).toBe(403);
    expect((await bare({ 'x-causeway-console': '1' })).status).toBe(200);
  });

  it('ends with its key, and when its person signs out', async () => {
    const { call, accountId } = await openCustomer();
    await gateway.services.store.setAccountStatus({ id: accountId, status: 'suspended', now: Date.now() });
    expect(await codeOf(await call('/console/v1/balance'))).toEqual([401, 'invalid_api_key']);
    const operator = await openOperator();
    await gateway.services.store.revokeOperatorKey({ id: operator.id, now: Date.now() });
    expect(await codeOf(await operator.call('/console/admin/v1/accounts'))).toEqual([401, 'invalid_api_key']);
    expect(await (await operator.call('/console/session')).json()).toEqual({
      customer: false,
      operator: null,
      wallets: false,
      cards: false,
    });
    const leaving = await openCustomer();
    const left = await leaving.call('/console/session', { method: 'DELETE' });
    expect(left.headers.getSetCookie()).toContain(
      '__Host-causeway-console=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=Strict',
    );
    expect((await leaving.call('/console/v1/balance')).status).toBe(401);
  });

  it('leaves the rights of an operator as they are', async () => {
    const { key } = await issueOperator(gateway.services, 'read');
    const { call } = await signInTo(gateway.url, key);
    expect((await call('/console/admin/v1/accounts')).status).toBe(200);
    const created = await call('/console/admin/v1/accounts', { body: { name: 'Acme' } });
    expect(await codeOf(created)).toEqual([403, 'role_not_allowed']);
  });
});

describe('a sign-in to the console', () => {
  it('without a valid key is refused, and limited by address', async () => {
    const limited = await startTestGateway();
    try {
      const attempt = () =>
        fetch(`${limited.url}/console/session`, {
          method: 'POST',
          headers: { origin: limited.url, 'content-type': 'application/json' },
          body: JSON.stringify({ key: 'sk_causeway_wrong' }),
        });
      expect(await codeOf(await attempt())).toEqual([401, 'invalid_api_key']);
      for (let left = 19; left > 0; left -= 1) expect((await attempt()).status).toBe(401);
      expect(await codeOf(await attempt())).toEqual([429, 'rate_limit_exceeded']);
      // The audit log has the first twenty of an hour, without the key, and the first that it leaves out.
      const rows = await limited.services.store.listAudit({ limit: 99, operation: 'sign_in_to_console' });
      expect(rows.map(({ actor, error }) => [actor.replace(/:.*/, ''), error])).toEqual([
        ['address', 'rate_limit_exceeded'],
        ...Array.from({ length: 20 }, () => ['address', 'invalid_api_key']),
      ]);
      expect(JSON.stringify(rows)).not.toContain('wrong');
    } finally {
      await limited.stop();
    }
  });

  it('is refused over plain http, other than on the machine itself', async () => {
    const plain = await startTestGateway({ environment: { PUBLIC_URL: 'http://gateway.example' } });
    try {
      const { call, setCookie } = await signInTo(plain.url, plain.apiKey);
      expect(setCookie).toContain('__Host-');
      const headers = { origin: 'http://gateway.example' };
      const answer = await call('/console/session', { body: { key: plain.apiKey }, headers });
      expect(answer.status).toBe(403);
      expect(await answer.text()).toContain('plain http');
      expect(answer.headers.getSetCookie()).toEqual([]);
    } finally {
      await plain.stop();
    }
  });

  it('needs a key in its body', async () => {
    const { call } = await openCustomer();
    for (const body of [{}, { key: '' }, { key: 7 }, []])
      expect((await codeOf(await call('/console/session', { body })))[0]).toBe(422);
  });
});

describe('CONSOLE=off', () => {
  it('leaves nothing at /console', async () => {
    const without = await startTestGateway({ environment: { CONSOLE: 'off' } });
    try {
      for (const path of [
        '/console',
        '/console/session',
        '/console/v1/balance',
        '/console/admin/v1/accounts',
      ])
        expect(await codeOf(await without.call(path))).toEqual([404, 'not_found']);
    } finally {
      await without.stop();
    }
  });
});
