import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { startReceiver } from '../jobs/webhooks/start-receiver.ts';
import { openAccount } from '../mcp/open-account.ts';
import { makeImage, page, read, refusal, type Body } from './account-calls.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ environment: { ALLOW_LOOPBACK_URLS: 'true' } });
});
afterAll(() => gateway.stop());

const set = (apiKey: string, body: Body): Promise<Response> =>
  gateway.call('/v1/alerts', { apiKey, method: 'PUT', body });
const nothing = { low_balance_usd: null, url: null };

it('an account is told by a signed event that its balance is low', async () => {
  const { apiKey } = await openAccount(gateway.services);
  const secret = String((await read(gateway, '/v1/balance', apiKey))['webhook_secret']);
  const receiver = await startReceiver({ secret: () => secret, now: Date.now });
  expect(await read(gateway, '/v1/alerts', apiKey)).toEqual(nothing);
  const alert = { low_balance_usd: '9.98', url: receiver.url };
  expect(await (await set(apiKey, alert)).json()).toEqual(alert);
  await makeImage(gateway, apiKey);
  await gateway.services.store.tellLowBalances({ now: Date.now(), limit: 10 });
  await vi.waitFor(() => expect(receiver.deliveries).toHaveLength(1), { timeout: 30_000, interval: 20 });
  expect(receiver.deliveries[0]?.isGenuine).toBe(true);
  expect(JSON.parse(String(receiver.deliveries[0]?.raw))).toMatchObject({
    type: 'balance.low',
    balance_usd: '9.96',
    low_balance_usd: '9.98',
  });
  await set(apiKey, alert);
  await gateway.services.store.tellLowBalances({ now: Date.now(), limit: 10 });
  expect((await page(gateway, '/v1/webhooks/deliveries', apiKey)).data).toHaveLength(1);
  await set(apiKey, { ...alert, low_balance_usd: '9.97' });
  await gateway.services.store.tellLowBalances({ now: Date.now(), limit: 10 });
  expect((await page(gateway, '/v1/webhooks/deliveries', apiKey)).data).toHaveLength(2);
  expect(await (await set(apiKey, nothing)).json()).toEqual(nothing);
  expect(await read(gateway, '/v1/alerts', apiKey)).toEqual(nothing);
});

it.each([
  [{ low_balance_usd: '5.00', url: null }, 'url'],
  [{ low_balance_usd: null, url: 'https://example.com/' }, 'low_balance_usd'],
  [{ low_balance_usd: '0', url: 'https://example.com/' }, 'low_balance_usd'],
  [{ low_balance_usd: '5.00', url: 'https://10.0.0.1/' }, 'url'],
  [{ low_balance_usd: '5.00' }, 'url'],
  [{ ...nothing, low_balance: '5.00' }, 'low_balance'],
])('an alert %j is refused', async (body, param) => {
  expect(await refusal(await set(gateway.apiKey, body))).toEqual({
    status: 422,
    code: 'invalid_parameter',
    param,
  });
});

it('a key with limits reads and sets no alert', async () => {
  const made = await gateway.call('/v1/keys', { body: { budget_day_usd: '1.00' } });
  const { key } = (await made.json()) as { key: string };
  for (const call of [set(key, nothing), gateway.call('/v1/alerts', { apiKey: key })])
    expect(await refusal(await call)).toMatchObject({ status: 403, code: 'permission_denied' });
});
