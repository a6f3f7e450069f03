import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openAccount } from '../mcp/open-account.ts';
import { connectAssistant, image, makeImage, read, tool, type Body } from './account-calls.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

const openLimited = async () => {
  const { apiKey, keyId } = await openAccount(gateway.services);
  const made = await gateway.call('/v1/keys', {
    apiKey,
    body: {
      label: 'shop',
      models: [image.model],
      budget_day_usd: '0.20',
      budget_month_usd: '5.00',
      alert_url: 'https://shop.example/hook?token=hidden',
    },
  });
  const { key, id } = (await made.json()) as { key: string; id: string };
  const drawn = await gateway.call('/v1/images/generations', { apiKey: key, body: image });
  expect(drawn.status).toBe(200);
  return { apiKey, keyId, key, id };
};

describe('GET /v1/whoami', () => {
  it('tells a key with limits what it may buy, and what is spent of its budgets', async () => {
    const { apiKey, key, id } = await openLimited();
    const { account_id: accountId, ...seen } = await read(gateway, '/v1/whoami', key);
    expect(seen).toEqual({
      kind: 'api_key',
      scopes: null,
      sandbox: expect.any(Boolean),
      requests_per_minute: 600,
      active_videos: 5,
      key: expect.objectContaining({
        id,
        label: 'shop',
        models: [image.model],
        tools: null,
        budget_day_usd: '0.20',
        day_spent_usd: '0.04',
        budget_month_usd: '5.00',
        month_spent_usd: '0.04',
        expires_at: null,
        alert_url: null,
      }),
    });
    expect((await read(gateway, '/v1/whoami', apiKey))['account_id']).toBe(accountId);
  });

  it('has limits: use and statement name no other key', async () => {
    const { apiKey, keyId, key, id } = await openLimited();
    await makeImage(gateway, apiKey);
    const names = async (by: string): Promise<unknown[]> => {
      const usage = (await read(gateway, '/v1/usage', by))['by_key'] as Body[];
      const lines = (await read(gateway, '/v1/statement', by))['data'] as Body[];
      const debits = lines.filter(({ type }) => type === 'debit');
      return [
        new Set(usage.map((row) => row['key_id'])),
        debits.map((line) => [line['key_id'], line['key_label']]),
      ];
    };
    expect(await names(apiKey)).toEqual([
      new Set([id, keyId]),
      [
        [id, 'shop'],
        [keyId, 'test'],
      ],
    ]);
    expect(await names(key)).toEqual([
      new Set([id, null]),
      [
        [id, 'shop'],
        [null, null],
      ],
    ]);
  });

  it('has a short form in the balance over MCP, and none over REST', async () => {
    const { apiKey, keyId, key, id } = await openLimited();
    const short = async (by: string): Promise<unknown> => {
      const assistant = await connectAssistant(gateway, by);
      onTestFinished(() => assistant.close());
      return (await tool(assistant, 'get_balance'))['caller'];
    };
    const own = { kind: 'api_key', scopes: null };
    expect(await short(key)).toEqual({ ...own, key_id: id, budget_left_usd: '0.16' });
    expect(await short(apiKey)).toEqual({ ...own, key_id: keyId, budget_left_usd: null });
    const balance: Body = await read(gateway, '/v1/balance', key);
    expect(balance).not.toHaveProperty('caller');
  });
});

it('the last use of a key is shown with it, after the call', async () => {
  const { apiKey, key, id } = await openLimited();
  expect(await read(gateway, `/v1/keys/${id}`, apiKey)).toMatchObject({ last_used_at: null });
  await gateway.services.lastUse.write();
  const used = { last_used_at: expect.stringMatching(/T\d\d:\d\d:00\.000Z$/) };
  expect(await read(gateway, `/v1/keys/${id}`, apiKey)).toMatchObject(used);
  expect(await read(gateway, '/v1/whoami', key)).toMatchObject({ key: used });
});
