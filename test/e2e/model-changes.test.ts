import { ExactEvmScheme } from '@x402/evm/exact/client';
import { wrapFetchWithPayment, x402Client } from '@x402/fetch';
import { privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { operatorOf } from '../cli/run-cli.ts';
import { createOperatorClient } from '../operator/operator-client.ts';
import { startPaidSearch, type PaidSearch } from './start-paid-search.ts';

const sku = 'imagemodel-1.0';
const body = { prompt: 'A lighthouse', model: sku };

let sale: PaidSearch;
let operator: Awaited<ReturnType<typeof createOperatorClient>>;
beforeAll(async () => {
  sale = await startPaidSearch({ environment: { WALLET_ACCOUNTS: 'on' } });
  operator = await createOperatorClient(sale.gateway);
});
afterAll(() => sale.stop());

const setPrice = (usd: string) =>
  operator.post(`/models/${sku}`, { price: { unit: 'call', price_usd: usd } });
const draw = (headers: Record<string, string> = {}, apiKey: string | null = sale.gateway.apiKey) =>
  sale.gateway.call('/v1/images/generations', { body, headers, apiKey });
const read = async (path: string, headers: Record<string, string> = {}): Promise<string> =>
  (await sale.gateway.call(path, { headers })).text();

it('a changed price is charged and shown everywhere, until it is unset', async () => {
  expect(await read('/')).toContain('$0.04');
  expect(await read('/openapi.json')).not.toContain('0.061');
  expect(await setPrice('0.061')).toMatchObject({
    status: 200,
    body: { model: { sku, on: true, changed: true, price: { unit: 'call', price_usd: '0.061' } } },
  });
  expect((await draw()).headers.get('x-causeway-charge-usd')).toBe('0.061');
  for (const path of ['/v1/models', '/', '/.well-known/x402', '/openapi.json'])
    expect(await read(path, { accept: 'text/markdown, application/json' })).toContain('0.061');

  expect(await operator.post(`/models/${sku}/unset`)).toMatchObject({
    body: { model: { changed: false, price: { unit: 'call', price_usd: '0.04' } } },
  });
  expect((await draw()).headers.get('x-causeway-charge-usd')).toBe('0.04');
  const { body: history } = await operator.get(`/models/${sku}/history`);
  const [before, after] = ['0.04', '0.061'].map((usd) => ({
    on: true,
    price: { unit: 'call', price_usd: usd },
  }));
  expect(history['changes']).toMatchObject([
    { version: 2, before: after, after: before },
    { version: 1, before, after, by: expect.stringMatching(/^key:/) },
  ]);
  const { body: log } = await operator.get('/audit?operation=set_model');
  expect(log['changes']).toMatchObject([{ outcome: 'done', input: { sku } }]);
});

it('a change that was made elsewhere on the store is followed by a running gateway', async () => {
  const { dataDir } = sale.gateway;
  const elsewhere = operatorOf({ DATA_DIR: dataDir }, { subject: 'models' });
  await elsewhere.print('set', sku, '--price', '{"unit":"call","price_usd":"0.033"}');
  await expect.poll(() => read('/v1/models'), { timeout: 60_000 }).toContain('0.033');
  await elsewhere.print('unset', sku);
  await expect.poll(() => read('/v1/models'), { timeout: 60_000 }).not.toContain('0.033');
});

it('a model that is off is sold to nobody, and its price may change meanwhile', async () => {
  await operator.post(`/models/${sku}`, { state: 'off' });
  expect((await draw()).status).toBe(400);
  expect(await read('/v1/models')).not.toContain(sku);
  await setPrice('0.07');
  expect((await draw()).status).toBe(400);
  await operator.post(`/models/${sku}`, { state: 'on' });
  expect((await draw()).headers.get('x-causeway-charge-usd')).toBe('0.07');
  await operator.post(`/models/${sku}/unset`);
});

/** A new proof for the terms of a call as they are now. */
const quote = async (path = '/v1/images/generations', input: object = body) => {
  let proof = '';
  const wallet = privateKeyToAccount(sale.chains.base.buyer.privateKey);
  const client = new x402Client().register('eip155:*', new ExactEvmScheme(wallet));
  const keeping = wrapFetchWithPayment(async (input, init) => {
    const request = new Request(input, init);
    proof = request.headers.get('payment-signature') ?? '';
    return proof === '' ? fetch(request) : new Response('{}');
  }, client);
  await keeping(sale.gateway.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(input),
  });
  return { 'payment-signature': proof };
};

it('a proof for a price that was quoted before a change pays this price', async () => {
  await setPrice('0.02');
  const older = await quote();
  await operator.post(`/models/${sku}/unset`);
  const quoted = await quote();
  await setPrice('0.5');
  const paid = await draw(quoted, null);
  expect([paid.status, paid.headers.get('x-causeway-charge-usd')]).toEqual([200, '0.04']);
  expect((await draw(quoted, null)).status).toBe(200);
  expect((await draw(older, null)).headers.get('x-causeway-charge-usd')).toBe('0.02');
  await operator.post(`/models/${sku}/unset`);
  expect((await sale.gateway.services.store.checkLedger()).problems).toEqual([]);
});

it('a proof for a former price whose money is spent by another call is told that it is settled', async () => {
  const proof = await quote();
  await setPrice('0.5');
  const { store } = sale.gateway.services;
  const opening = vi.spyOn(store, 'openJob').mockResolvedValue({ outcome: 'insufficient', available: 0n });
  const refused = await draw(proof, null);
  opening.mockRestore();
  expect([refused.status, await refused.text()]).toEqual([
    402,
    expect.stringContaining('payment of $0.04 is settled'),
  ]);
  expect((await draw(proof, null)).status).toBe(200);
  const present = await quote();
  vi.spyOn(store, 'openJob').mockResolvedValueOnce({ outcome: 'insufficient', available: 0n });
  expect(await (await draw(present, null)).text()).toContain('payment of $0.50 is settled');
  expect((await draw(present, null)).headers.get('x-causeway-charge-usd')).toBe('0.50');
  await operator.post(`/models/${sku}/unset`);
});

it('a proof for a former price is served whose process died before it was verified', async () => {
  const { store, clock } = sale.gateway.services;
  const proof = await quote();
  vi.spyOn(store, 'verifyPayment').mockRejectedValueOnce(new Error('away'));
  expect((await draw(proof, null)).status).toBe(500);
  await setPrice('0.5');
  const now = clock.now() + 40_000;
  vi.spyOn(clock, 'now').mockImplementation(() => now);
  expect((await draw(proof, null)).headers.get('x-causeway-charge-usd')).toBe('0.04');
  vi.restoreAllMocks();
  await operator.post(`/models/${sku}/unset`);
});

it.each([
  ['a wallet', false],
  ['an account', true],
])(
  'a paid call of %s is not charged by a price that comes while its payment is read',
  async (_of, hasKey) => {
    const { store } = sale.gateway.services;
    const topUp = { amount_usd: '1.00' };
    const headers = await quote('/v1/topup', topUp);
    expect((await sale.gateway.call('/v1/topup', { body: topUp, headers, apiKey: null })).status).toBe(200);
    const proof = await quote();
    const drawPaid = () => draw(proof, hasKey ? sale.gateway.apiKey : null);
    vi.spyOn(store, 'openJob').mockRejectedValueOnce(new Error('away'));
    expect((await drawPaid()).status).toBe(500);
    const reserve = store.reservePayment;
    vi.spyOn(store, 'reservePayment').mockImplementationOnce(async (payment) => {
      await setPrice('0.5');
      return reserve(payment);
    });
    expect((await drawPaid()).headers.get('x-causeway-charge-usd')).toBe('0.04');
    vi.restoreAllMocks();
    await operator.post(`/models/${sku}/unset`);
  },
);

it('a paid call that is refused since its price has risen is told the present price, not a former one', async () => {
  const { store, clock } = sale.gateway.services;
  const proof = await quote();
  vi.spyOn(store, 'openJob').mockRejectedValueOnce(new Error('away'));
  expect((await draw(proof, null)).status).toBe(500);
  await setPrice('0.3');
  const raised = clock.now();
  await expect.poll(() => clock.now()).toBeGreaterThan(raised);
  await setPrice('0.5');
  // The first price holds no longer, and the second still does.
  vi.spyOn(clock, 'now').mockImplementation(() => raised + 420_000);
  expect(await (await draw(proof, null)).text()).toContain('costs up to $0.50 by now');
  vi.restoreAllMocks();
  await operator.post(`/models/${sku}/unset`);
});

it('a paid chat that has not run is run at the rates of its quote', async () => {
  const { store } = sale.gateway.services;
  const chat = {
    model: 'textmodel-3.1-pro',
    messages: [{ role: 'user', content: 'Tell me of lighthouses.' }],
  };
  const path = '/v1/chat/completions';
  const proof = await quote(path, chat);
  const ask = async (headers: Record<string, string>, apiKey: string | null) => {
    const answer = await sale.gateway.call(path, { body: chat, headers, apiKey });
    return [answer.status, answer.headers.get('x-causeway-charge-usd')];
  };
  const usual = await ask({}, sale.gateway.apiKey);
  vi.spyOn(store, 'openJob').mockRejectedValueOnce(new Error('away'));
  expect(await ask(proof, null)).toEqual([500, null]);
  const dearer = { unit: 'token', input_usd_per_1m: '20', output_usd_per_1m: '90' };
  await operator.post('/models/textmodel-3.1-pro', { price: dearer });
  expect(await ask(proof, null)).toEqual(usual);
  await operator.post('/models/textmodel-3.1-pro/unset');
});

it('a proof that was not sent is not settled while its model is off, or its wallet is suspended', async () => {
  const { store, clock } = sale.gateway.services;
  const proof = await quote();
  const fault = sale.chains.base.controls.inject({ fault: 'unavailable', methods: ['eth_estimateGas'] });
  expect((await draw(proof, null)).status).toBe(503);
  fault.remove();
  await operator.post(`/models/${sku}`, { state: 'off' });
  expect(await sale.charged(async () => void (await draw(proof, null)))).toBe(0n);
  await operator.post(`/models/${sku}/unset`);
  const [payment] = await store.listPayments({ limit: 1, states: ['produced'] });
  const set = (status: 'active' | 'suspended') =>
    store.setAccountStatus({ id: payment?.accountId ?? '', status, now: clock.now() });
  await set('suspended');
  expect(await sale.charged(async () => expect((await draw(proof, null)).status).toBe(403))).toBe(0n);
  await set('active');
  expect((await draw(proof, null)).status).toBe(200);
});

it.each([
  ['a wallet', false],
  ['an account', true],
])(
  'a paid call of %s that has not run is run for what was paid, although its model is dearer by then',
  async (_of, hasKey) => {
    const { store, clock } = sale.gateway.services;
    const topUp = { amount_usd: '1.00' };
    const headers = await quote('/v1/topup', topUp);
    expect((await sale.gateway.call('/v1/topup', { body: topUp, headers, apiKey: null })).status).toBe(200);
    const proofs = [await quote(), await quote()];
    const drawFor = (proof = {}) => draw(proof, hasKey ? sale.gateway.apiKey : null);
    vi.spyOn(store, 'openJob')
      .mockRejectedValueOnce(new Error('away'))
      .mockRejectedValueOnce(new Error('away'));
    for (const proof of proofs) expect((await drawFor(proof)).status).toBe(500);
    await setPrice('0.5');
    const paid = await drawFor(proofs[0]);
    expect([paid.status, paid.headers.get('x-causeway-charge-usd')]).toEqual([200, '0.04']);
    // The former price holds for some minutes. Later the rest of the balance is not touched, either.
    const now = clock.now() + 600_000;
    vi.spyOn(clock, 'now').mockImplementation(() => now);
    const late = await drawFor(proofs[1]);
    expect([late.status, await late.text()]).toEqual([
      402,
      expect.stringMatching(/costs up to \$0\.50 by now.*payment of \$0\.04 is settled/),
    ]);
    vi.restoreAllMocks();
    await operator.post(`/models/${sku}/unset`);
  },
);

it('refuses what is no price of the kind, an unknown model and nothing at all, and says why', async () => {
  const refusals = [
    [sku, { price: { unit: 'token', input_usd_per_1m: '1', output_usd_per_1m: '1' } }, 'priced by call'],
    ['gone', { state: 'off' }, 'Known SKUs are'],
    [sku, {}, 'Give a price, a state or both'],
    [sku, { price: { unit: 'call', price_usd: '-1' } }, 'price'],
  ] as const;
  for (const [name, input, text] of refusals) {
    const refused = await operator.post(`/models/${name}`, input);
    expect(refused.status).toBeGreaterThanOrEqual(400);
    expect(JSON.stringify(refused.body)).toContain(text);
  }
  expect((await operator.get('/audit?operation=set_model&limit=1')).body['changes']).toMatchObject([
    { outcome: 'failed', error: 'invalid_parameter' },
  ]);
});
