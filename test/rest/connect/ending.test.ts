import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startTestGateway, type TestGateway } from '../../e2e/start-test-gateway.ts';
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
