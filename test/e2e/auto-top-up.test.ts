import { afterAll, beforeAll, expect, it } from 'vitest';
import { createOperatorClient } from '../operator/operator-client.ts';
import { startCardGateway } from './start-card-gateway.ts';

let site: Awaited<ReturnType<typeof startCardGateway>>;
let stripe: typeof site.stripe;
let gateway: typeof site.gateway;
beforeAll(async () => {
  site = await startCardGateway();
  ({ stripe, gateway } = site);
});
afterAll(() => site.stop());

const path = '/v1/balance/auto-top-up';
const order = { below_usd: '30', amount_usd: '20.00', monthly_cap_usd: '100' };
const put = (body: object, apiKey?: string) =>
  gateway.call(path, { method: 'PUT', body, ...(apiKey && { apiKey }) });
const read = async (answered: Promise<Response> | Response) => {
  const answer = await answered;
  return { status: answer.status, ...((await answer.json()) as object) };
};
const off = {
  object: 'auto_top_up',
  state: 'off',
  stopped_for: null,
  below_usd: null,
  amount_usd: null,
  monthly_cap_usd: null,
  card: null,
  month_usd: '0.00',
};

it('a customer sets an automatic top-up, saves a card, reads both and ends it', async () => {
  expect(await read(gateway.call(path))).toEqual({ status: 200, ...off });
  const body = { amount_usd: '20.00', save_card: true };
  const early = await gateway.call('/v1/balance/checkout', { body });
  expect(early.status).toBe(422);
  expect(JSON.stringify(await early.json())).toContain('set the automatic top-up first');
  const set = { below_usd: '30.00', amount_usd: '20.00', monthly_cap_usd: '100.00' };
  expect(await read(put(order))).toMatchObject({ status: 200, state: 'needs_card', card: null, ...set });
  const opened = (await (await gateway.call('/v1/balance/checkout', { body })).json()) as { id: string };
  await stripe.deliver(stripe.complete(stripe.sessionOf(opened.id)), gateway.url);
  expect(await read(gateway.call(path))).toMatchObject({ state: 'on', card: 'visa 4242', ...set });
  const operator = await createOperatorClient(gateway, 'read');
  const payment = await gateway.services.store.getCardPayment(opened.id);
  expect((await operator.get(`/accounts/${payment?.accountId}`)).body).toMatchObject({
    auto_top_up: { state: 'on', card: 'visa 4242', ...set },
  });
  expect((await operator.get('/card-payments')).body).toMatchObject({ payments: [{ kind: 'saving' }] });
  const ended = await gateway.call(path, { method: 'DELETE' });
  expect(await read(ended)).toMatchObject({ status: 200, state: 'off', card: null });
  expect(stripe.saved.size).toBe(0);
});

it.each([
  [{ ...order, amount_usd: '4.99' }, 'amount_usd'],
  [{ ...order, monthly_cap_usd: '19.99' }, 'monthly_cap_usd'],
  [{ ...order, below_usd: '0' }, 'below_usd'],
  [{ below_usd: '5' }, 'amount_usd'],
  [{ ...order, monthly_usd: '5' }, 'monthly_usd'],
])('refuses %o, and names the field %s', async (body, field) => {
  const answer = await put(body);
  expect(answer.status).toBe(422);
  expect(JSON.stringify(await answer.json())).toContain(field);
});

it('a key with limits neither reads nor changes it, nor saves a card', async () => {
  const body = { label: 'weak', budget_day_usd: '1' };
  const made = (await (await gateway.call('/v1/keys', { body })).json()) as { key: string };
  const save = { body: { amount_usd: '5.00', save_card: true }, apiKey: made.key };
  const answers = await Promise.all([
    gateway.call(path, { apiKey: made.key }),
    put(order, made.key),
    gateway.call(path, { method: 'DELETE', apiKey: made.key }),
    gateway.call('/v1/balance/checkout', save),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([403, 403, 403, 403]);
});
