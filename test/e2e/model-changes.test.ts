import { ExactEvmScheme } from '@x402/evm/exact/client';
import { wrapFetchWithPayment, x402Client } from '@x402/fetch';
import { privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll, expect, it } from 'vitest';
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

it('a proof for a price that was quoted before a change pays this price', async () => {
  let proof = '';
  const wallet = privateKeyToAccount(sale.chains.base.buyer.privateKey);
  const client = new x402Client().register('eip155:*', new ExactEvmScheme(wallet));
  const keeping = wrapFetchWithPayment(async (input, init) => {
    const request = new Request(input, init);
    proof = request.headers.get('payment-signature') ?? '';
    return proof === '' ? fetch(request) : new Response('{}');
  }, client);
  const quote = async (): Promise<Record<string, string>> => {
    await keeping(`${sale.gateway.url}/v1/images/generations`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return { 'payment-signature': proof };
  };
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
