import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { issueKey } from '../../../src/accounts/keys.ts';
import { sha256 } from '../../../src/kit/ids.ts';
import { createProvider } from '../../../src/rest/connect/create-provider.ts';
import { startTestGateway, type CallOptions, type TestGateway } from '../../e2e/start-test-gateway.ts';
import { openAccount } from '../../mcp/open-account.ts';
import { connectAssistant } from '../../store/connect-assistant.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

const open = async () => {
  const { services } = gateway;
  const account = await openAccount(services);
  const connection = await connectAssistant(services.store, { ...account, now: Date.now() });
  const call = (name: string, args: object, meta: object = {}): Promise<Response> =>
    gateway.call('/mcp/account', {
      apiKey: connection.token,
      body: {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name, arguments: args, _meta: meta },
      },
      headers: { accept: 'application/json, text/event-stream' },
    });
  return { ...account, ...connection, call };
};

type Opened = Awaited<ReturnType<typeof open>>;

const ends: [string, (opened: Opened) => Promise<unknown>][] = [
  [
    'its person ends it',
    ({ connectionId, apiKey }) =>
      gateway.call(`/v1/connections/${connectionId}`, { method: 'DELETE', apiKey }),
  ],
  [
    'the key that made it is revoked',
    ({ parentId, apiKey }) => gateway.call(`/v1/keys/${parentId}`, { method: 'DELETE', apiKey }),
  ],
  [
    'the key that made it expires',
    ({ parentId }) => gateway.services.store.changeKey({ id: parentId, expiresAt: Date.now() }),
  ],
  [
    'its account is suspended',
    ({ accountId }) =>
      gateway.services.store.setAccountStatus({ id: accountId, status: 'suspended', now: Date.now() }),
  ],
];

describe('a connection', () => {
  it('lasts for years while its tokens are renewed', async () => {
    const { services, url: publicUrl } = gateway;
    const provider = await createProvider({ ...services, publicUrl });
    const grantId = await new provider.Grant({ accountId: 'a', clientId: 'c' }).save();
    const later = Date.now() + 3 * 365 * 24 * 3_600_000;
    await services.store.putOAuthRecord({
      model: 'RefreshToken',
      id: grantId,
      payload: '{}',
      grantId: sha256(grantId),
      uid: null,
      expiresAt: later + 1_000_000,
      now: Date.now(),
    });
    vi.useFakeTimers({ toFake: ['Date'], now: later });
    onTestFinished(() => void vi.useRealTimers());
    expect(await provider.Grant.find(grantId)).toMatchObject({ accountId: 'a' });
  });

  it.each(ends.slice(0, 3))('is shown as ended, and changed no more, when %s', async (_, end) => {
    const opened = await open();
    const { connectionId, apiKey } = opened;
    const listed = async (): Promise<unknown> => (await gateway.call('/v1/connections', { apiKey })).json();
    expect(await listed()).toMatchObject({ data: [{ id: connectionId, revoked_at: null }] });
    await end(opened);
    expect(await listed()).toMatchObject({ data: [{ id: connectionId, revoked_at: expect.any(String) }] });
    const path = `/v1/connections/${connectionId}`;
    expect((await gateway.call(path, { apiKey, body: { budget_day_usd: '9' } })).status).toBe(404);
  });

  it('is seen and ended by the wallet that has signed in, and not changed', async () => {
    const { accountId, connectionId } = await open();
    const sign = { accountId, label: 'wallet sign-in', brand: 'causeway', madeBy: 'wallet' };
    const signedIn = await issueKey(gateway.services, sign);
    if (signedIn.outcome !== 'issued') throw new Error(signedIn.outcome);
    const ask = async (path: string, options: CallOptions = {}) => {
      const answer = await gateway.call(`/v1/connections${path}`, { apiKey: signedIn.key, ...options });
      return [answer.status, await answer.json()];
    };
    expect(await ask('')).toMatchObject([200, { data: [{ id: connectionId }] }]);
    expect(await ask(`/${connectionId}`, { body: { budget_day_usd: '9' } })).toMatchObject([403, {}]);
    const ended = { id: connectionId, revoked_at: expect.any(String) };
    expect(await ask(`/${connectionId}`, { method: 'DELETE' })).toMatchObject([200, ended]);
  });

  it.each(ends)(
    'makes no further call when %s, and a chat that runs ends as it does with a key',
    async (_, end) => {
      const opened = await open();
      const { accountId, call } = opened;
      const { store } = gateway.services;
      const chat = { model: 'textmodel-3.5-flash', max_tokens: 50 };
      const messages = [{ role: 'user', content: '[sandbox:slow=2] Hello' }];
      const running = call('create_chat_completion', { ...chat, messages }, { progressToken: 1 });
      await vi.waitUntil(async () => ((await store.getAccount(accountId))?.held ?? 0n) > 0n, {
        timeout: 10_000,
      });
      await end(opened);
      const next = await call('get_balance', {});
      expect(next.status).toBe(401);
      expect(next.headers.get('www-authenticate')).toContain('error="invalid_token"');
      const answer = await running;
      expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('finish_reason')]);
      const account = await store.getAccount(accountId);
      expect(account?.held).toBe(0n);
      expect(account?.balance).toBeLessThan(10_000_000_000n);
      expect(await store.checkLedger()).toMatchObject({ problems: [] });
    },
  );
});
