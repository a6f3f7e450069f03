import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { adjust, credit, refund } from '../../src/accounts/ledger/entries.ts';
import { parseUsd } from '../../src/kit/money.ts';
import { documents, operatorOf } from '../cli/run-cli.ts';
import {
  connectAssistant,
  image,
  makeImage,
  openCustomer,
  page,
  read,
  tool,
  type Body,
} from './account-calls.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.stop());

describe('transactions and refunds', () => {
  it('are signed, add up to the balance, name job and model, and keep the operator’s words to himself', async () => {
    const { accountId, apiKey } = await openCustomer(gateway);
    const { id } = await makeImage(gateway, apiKey);
    // What came to nothing is no transaction.
    await gateway.call('/v1/images/generations', { apiKey, body: { ...image, prompt: '[sandbox:fail]' } });
    await adjust(gateway.services, { accountId, amount: -parseUsd('1.5'), reason: 'secret words' });
    const { data } = await page(gateway, '/v1/transactions', apiKey);
    const common = { id: expect.any(String), currency: 'USD', created_at: expect.any(String) };
    expect(data).toHaveLength(3);
    expect(data).toEqual(
      expect.arrayContaining([
        { ...common, type: 'adjustment', amount_usd: '-1.50', job_id: null, model: null },
        { ...common, type: 'debit', amount_usd: '-0.04', job_id: id, model: 'imagemodel-1.0' },
        { ...common, type: 'topup', amount_usd: '10.00', job_id: null, model: null },
      ]),
    );
    expect(await read(gateway, '/v1/balance', apiKey)).toMatchObject({ balance_usd: '8.46' });
    const assistant = await connectAssistant(gateway, apiKey);
    onTestFinished(() => assistant.close());
    expect(await tool(assistant, 'list_transactions')).toEqual(
      await read(gateway, '/v1/transactions', apiKey),
    );
  });

  it('come fifty to a page without a limit, and up to a hundred with one', async () => {
    const { accountId, apiKey } = await openCustomer(gateway);
    await Promise.all(
      Array.from({ length: 100 }, () =>
        credit(gateway.services, { accountId, amount: 1n, reason: 'for tests' }),
      ),
    );
    const half = await page(gateway, '/v1/transactions', apiKey);
    expect([half.data.length, half.has_more]).toEqual([50, true]);
    const most = await page(gateway, '/v1/transactions?limit=100', apiKey);
    expect([most.data.length, most.has_more]).toEqual([100, true]);
    const rest = await page(gateway, `/v1/transactions?limit=1&cursor=${most.next_cursor}`, apiKey);
    expect(rest).toMatchObject({ has_more: false, next_cursor: null });
    expect(new Set([...most.data, ...rest.data].map(({ id }) => id)).size).toBe(101);
    expect(half.data).toEqual(most.data.slice(0, 50));
  });

  it('follow a job that the operator gives back in part, whole, and no further', async () => {
    const { apiKey } = await openCustomer(gateway);
    const { id } = (await makeImage(gateway, apiKey)) as { id: string };
    const operator = operatorOf({ DATA_DIR: gateway.services.config.dataDir });
    const bill = async (): Promise<Body> => {
      const [job] = (await page(gateway, '/v1/jobs', apiKey)).data;
      const usage = await read(gateway, '/v1/usage', apiKey);
      for (const name of ['charged_usd', 'refunded_usd', 'net_spent_usd'])
        expect(usage[name]).toBe(job?.[name]);
      return job ?? {};
    };

    await operator.answer(documents.refunded, 'refund', id, '0.01', '--reason', 'secret words');
    expect(await bill()).toMatchObject({
      status: 'done',
      billing_status: 'partially_refunded',
      charged_usd: '0.04',
      refunded_usd: '0.01',
      net_spent_usd: '0.03',
    });
    const again = (usd: string) =>
      refund(gateway.services, { jobId: id, amount: parseUsd(usd), reason: 'secret words' });
    expect(await again('0.04')).toEqual({ outcome: 'too_much', refundable: parseUsd('0.03') });
    expect(await again('0.03')).toMatchObject({ outcome: 'refunded' });
    expect(await bill()).toMatchObject({
      billing_status: 'refunded',
      refunded_usd: '0.04',
      net_spent_usd: '0.00',
    });
    expect(await again('0.01')).toEqual({ outcome: 'too_much', refundable: 0n });

    const { data } = await page(gateway, '/v1/transactions', apiKey);
    expect(
      data.map((entry) => [entry['type'], entry['amount_usd'], entry['job_id'], entry['model']]),
    ).toEqual([
      ['refund', '0.03', id, 'imagemodel-1.0'],
      ['refund', '0.01', id, 'imagemodel-1.0'],
      ['debit', '-0.04', id, 'imagemodel-1.0'],
      ['topup', '10.00', null, null],
    ]);
    expect(JSON.stringify(data)).not.toContain('secret');
    expect(await read(gateway, '/v1/balance', apiKey)).toMatchObject({ balance_usd: '10.00' });
    expect((await gateway.services.store.checkLedger()).problems).toEqual([]);
  });
});
