import { afterAll, beforeAll, expect, it } from 'vitest';
import { openAccount } from '../mcp/open-account.ts';
import { image, makeImage, read, refusal, type Body } from './account-calls.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

it('a statement tells what each job cost by which key, alike in JSON and CSV', async () => {
  const { apiKey } = await openAccount(gateway.services);
  const label = '=HYPERLINK("https://evil.example"), @home';
  const made = await gateway.call('/v1/keys', { apiKey, body: { label } });
  const { key, id: keyId } = (await made.json()) as { key: string; id: string };
  const job = await makeImage(gateway, key);
  const statement = await read(gateway, '/v1/statement', apiKey);
  const month = new Date().toISOString().slice(0, 7);
  expect(statement).toMatchObject({
    month,
    opening_balance_usd: '0.00',
    closing_balance_usd: '9.96',
    has_more: false,
    data: [
      { type: 'topup', amount_usd: '10.00', job_id: null, key_label: null, balance_usd: '10.00' },
      {
        type: 'debit',
        kind: 'image',
        model: image.model,
        job_id: job['id'],
        key_id: keyId,
        key_label: label,
        amount_usd: '-0.04',
        balance_usd: '9.96',
      },
    ],
  });
  const response = await gateway.call(`/v1/statement?format=csv&month=${month}`, { apiKey });
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': `attachment; filename="statement-${month}.csv"`,
    'cache-control': 'no-store',
  });
  const [, debit] = statement['data'] as [Body, Body];
  const lines = (await response.text()).split('\r\n');
  expect(lines).toEqual([
    'created_at,type,kind,model,job_id,key_id,key_label,payment,id,amount_usd,balance_usd',
    ',opening_balance,,,,,,,,,0.00',
    expect.stringMatching(/,topup,,,,,,,[-0-9a-f]{36},10\.00,10\.00$/),
    // No spreadsheet runs the label; the amount stays a number.
    `${String(debit['created_at'])},debit,image,${image.model},${String(job['id'])},${keyId},` +
      `"'=HYPERLINK(""https://evil.example""), @home",,${String(debit['id'])},-0.04,9.96`,
    ',closing_balance,,,,,,,,,9.96',
    '',
  ]);
  const head = await gateway.call('/v1/statement?format=csv', { apiKey, method: 'HEAD' });
  expect([head.status, await head.text()]).toEqual([200, '']);
});

it.each([
  ['month=2026-13', 'month'],
  ['month=2999-01', 'month'],
  ['month=november', 'month'],
  ['format=pdf', 'format'],
  ['format=csv&cursor=x', 'cursor'],
])('a statement with %s is refused', async (query, param) => {
  const refused = await gateway.call(`/v1/statement?${query}`);
  expect(await refusal(refused)).toEqual({ status: 422, code: 'invalid_parameter', param });
});

it('a receipt is read with a key also where wallets have no accounts, and its signature can be checked', async () => {
  const { apiKey } = await openAccount(gateway.services);
  const { id } = await makeImage(gateway, apiKey);
  expect(await read(gateway, `/v1/receipts/${String(id)}`, apiKey)).toMatchObject({
    id,
    charge_usd: '0.04',
    units: { calls: 1 },
    balance_after_usd: '9.96',
    receipt: { format: 'jws', signature: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/) },
  });
  const other = await openAccount(gateway.services);
  const foreign = await gateway.call(`/v1/receipts/${String(id)}`, { apiKey: other.apiKey });
  expect(await refusal(foreign)).toMatchObject({ status: 404, code: 'not_found' });
  expect((await gateway.call('/.well-known/did.json', { apiKey: null })).status).toBe(200);
});
