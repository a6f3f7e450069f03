import { randomUUID } from 'node:crypto';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { verifyReceiptSignatureJWS } from '@x402/extensions/offer-receipt';
import { wrapFetchWithPayment, x402Client } from '@x402/fetch';
import { importJWK, type JWK } from 'jose';
import { privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { formatUsd, parseUsd } from '../../src/kit/money.ts';
import { runRefund } from '../../src/payments/refunds/run-refund.ts';
import { createTokenTexts } from '../../src/payments/records/token-amount.ts';
import {
  connectAssistant,
  image,
  openCustomer,
  page,
  read,
  refusal,
  tool,
  type Body,
} from './account-calls.ts';
import { startPaidSearch, type PaidSearch } from './start-paid-search.ts';
import type { TestGateway } from './start-test-gateway.ts';
import { issueKey } from '../../src/accounts/keys.ts';

let sale: PaidSearch;
let gateway: TestGateway;
beforeAll(async () => {
  sale = await startPaidSearch({ environment: { WALLET_ACCOUNTS: 'on' } });
  ({ gateway } = sale);
});
afterAll(() => sale.stop());

const publicKey = async () => {
  const { verificationMethod } = (await read(gateway, '/.well-known/did.json')) as {
    verificationMethod?: { publicKeyJwk: JWK }[];
  };
  return importJWK(verificationMethod?.[0]?.publicKeyJwk ?? {});
};

describe('a receipt', () => {
  it('shows what a chat was charged, as its answer counted it, and is signed', async () => {
    const { apiKey } = await openCustomer(gateway);
    const answer = await gateway.call('/v1/chat/completions', {
      apiKey,
      body: { messages: [{ role: 'user', content: 'hello' }], max_tokens: 20 },
    });
    const { id, usage } = (await answer.json()) as { id: string; usage: Record<string, number> };
    const seen = await read(gateway, `/v1/receipts/${id}`, apiKey);
    const { data } = await page(gateway, '/v1/models', apiKey);
    const pricing = data.find((model) => model['id'] === seen['model'])?.['pricing'] as Body;
    const { currency: _currency, ...rate } = pricing;
    const charge = answer.headers.get('x-causeway-charge-usd');
    expect(seen).toMatchObject({
      id: id.replace('chatcmpl-', ''),
      type: 'job',
      kind: 'chat',
      status: 'charged',
      units: { input_tokens: usage['prompt_tokens'], output_tokens: usage['completion_tokens'] },
      rate,
      charge_usd: charge,
      refunded_usd: '0.00',
      balance_after_usd: answer.headers.get('x-causeway-balance-usd'),
    });
    expect(Number(seen['hold_usd'])).toBeGreaterThan(Number(charge));
    const { receipt, ...told } = seen;
    const signed = await verifyReceiptSignatureJWS(receipt as never, (await publicKey()) as never);
    expect(signed).toMatchObject({
      version: 1,
      resourceUrl: `${gateway.url}/v1/receipts/${String(seen['id'])}`,
      ...told,
    });
  });

  it('tells the balance as it was, whatever was posted later, alike over REST and MCP', async () => {
    const { apiKey } = await openCustomer(gateway);
    const ids: unknown[] = [];
    for (const prompt of ['a lighthouse', '[sandbox:fail]', 'a boat']) {
      const made = await gateway.call('/v1/images/generations', { apiKey, body: { ...image, prompt } });
      ids.push(((await made.json()) as Body)['id']);
    }
    const assistant = await connectAssistant(gateway, apiKey);
    // The client then checks answers against the schemas.
    await assistant.listTools();
    const seen: Body[] = [];
    for (const id of ids) {
      const told = await tool(assistant, 'get_receipt', { receipt_id: id });
      // Each is signed with its own time.
      const receipt = { format: 'jws', signature: expect.any(String) };
      expect(told).toMatchObject({ ...(await read(gateway, `/v1/receipts/${String(id)}`, apiKey)), receipt });
      seen.push(told);
    }
    await assistant.close();
    const imagePrice = { units: { calls: 1 }, rate: { unit: 'call', price_usd: '0.04' } };
    expect(seen).toMatchObject([
      { status: 'charged', ...imagePrice, charge_usd: '0.04', balance_after_usd: '9.96' },
      { status: 'not_charged', units: null, rate: null, charge_usd: '0.00', balance_after_usd: null },
      { status: 'charged', ...imagePrice, charge_usd: '0.04', balance_after_usd: '9.92' },
    ]);
  });

  it('is found by the id of a transaction too, and by nobody else', async () => {
    const [mine, other] = [await openCustomer(gateway), await openCustomer(gateway)];
    const made = await gateway.call('/v1/images/generations', { apiKey: mine.apiKey, body: image });
    const { id: jobId } = (await made.json()) as Body;
    const { data } = await page(gateway, '/v1/transactions', mine.apiKey);
    const [debit, topup] = data as [Body, Body];
    expect(await read(gateway, `/v1/receipts/${String(debit['id'])}`, mine.apiKey)).toMatchObject({
      id: jobId,
      type: 'job',
    });
    expect(await read(gateway, `/v1/receipts/${String(topup['id'])}`, mine.apiKey)).toMatchObject({
      id: topup['id'],
      type: 'topup',
      status: 'posted',
      amount_usd: '10.00',
      balance_after_usd: '10.00',
    });
    for (const id of [jobId, debit['id'], topup['id']])
      expect(
        await refusal(await gateway.call(`/v1/receipts/${String(id)}`, { apiKey: other.apiKey })),
      ).toEqual({ status: 404, code: 'not_found', param: undefined });
  });
});

describe('the purchases of a wallet', () => {
  const buy = async (path: string, body?: object): Promise<Body> => {
    const signer = privateKeyToAccount(sale.chains.base.buyer.privateKey);
    const paying = wrapFetchWithPayment(
      fetch,
      new x402Client().register('eip155:*', new ExactEvmScheme(signer)),
    );
    const answer = await paying(
      gateway.url + path,
      body === undefined
        ? {}
        : { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) },
    );
    expect(answer.status).toBe(200);
    return (await answer.json()) as Body;
  };
  /** What a sign-in leads to. */
  const signIn = async (): Promise<string> => {
    const { store } = gateway.services;
    const wallet = `eip155:${sale.chains.base.buyer.address.toLowerCase()}`;
    const account = await store.findWalletAccount({ wallet, isSandbox: true });
    const issued = await issueKey(gateway.services, {
      accountId: account?.id ?? '',
      label: '',
      brand: 'causeway',
    });
    if (issued.outcome !== 'issued') throw new Error(issued.outcome);
    return issued.key;
  };

  it('are listed with the answers that are kept, also those from before there was an account', async () => {
    const found = (await buy('/v1/search?limit=3')) as { results: Body[] };
    await buy('/v1/topup', { amount_usd: '0.50' });
    const made = await buy('/v1/images/generations', image);
    const apiKey = await signIn();
    const newest = await page(gateway, '/v1/purchases?limit=2', apiKey);
    expect(newest.data).toMatchObject([
      {
        operation: 'create_image',
        status: 'paid',
        amount: '0.04',
        credit_usd: '0.04',
        job_id: made['id'],
        result: null,
      },
      { operation: 'top_up', amount: '0.50', credit_usd: '0.50', result: { amount_usd: '0.50' } },
    ]);
    const oldest = await page(gateway, `/v1/purchases?cursor=${newest.next_cursor}`, apiKey);
    expect(oldest).toMatchObject({
      data: [{ operation: 'search_leads', amount: '0.10', credit_usd: null, job_id: null, result: found }],
      has_more: false,
    });
    expect((await page(gateway, '/v1/purchases')).data).toEqual([]);

    const username = String(found.results[0]?.['username']);
    const forgotten = vi
      .spyOn(gateway.services.leads, 'findForgotten')
      .mockResolvedValueOnce(new Set([username]));
    const [search] = (await page(gateway, `/v1/purchases?cursor=${newest.next_cursor}`, apiKey)).data;
    forgotten.mockRestore();
    expect(search?.['result']).toEqual({ results: found.results.slice(1), count: 2 });
  });

  it('have receipts by job, transaction and hash, which the x402 package verifies', async () => {
    const made = await buy('/v1/images/generations', { ...image, prompt: 'a harbour' });
    const apiKey = await signIn();
    const [bought] = (await page(gateway, '/v1/purchases?limit=1', apiKey)).data;
    const ofJob = await read(gateway, `/v1/receipts/${String(made['id'])}`, apiKey);
    expect(ofJob).toMatchObject({
      type: 'job',
      charge_usd: '0.04',
      payment: { transaction: bought?.['transaction'] },
    });
    const transactions = await page(gateway, '/v1/transactions?limit=2', apiKey);
    const topup = transactions.data.find(({ type }) => type === 'topup');
    expect(await read(gateway, `/v1/receipts/${String(topup?.['id'])}`, apiKey)).toMatchObject({
      type: 'topup',
      amount_usd: '0.04',
      payment: { id: bought?.['id'], terms: { scheme: 'exact', amount: '40000' } },
    });
    for (const id of [bought?.['id'], bought?.['transaction']].map(String)) {
      const receipt = await read(gateway, `/v1/receipts/${id}`, apiKey);
      expect(receipt).toMatchObject({ type: 'payment', status: 'paid', payment: { id: bought?.['id'] } });
      const signed = await verifyReceiptSignatureJWS(
        receipt['receipt'] as never,
        (await publicKey()) as never,
      );
      expect(signed).toMatchObject({
        network: bought?.['network'],
        payer: bought?.['payer'],
        transaction: bought?.['transaction'],
      });
      expect((await gateway.call(`/v1/receipts/${id}`)).status).toBe(404);
    }
    expect((await gateway.services.store.checkLedger()).problems).toEqual([]);
  });

  it('are refunded on the chain out of the balance that they raised', async () => {
    await buy('/v1/topup', { amount_usd: '0.50' });
    const apiKey = await signIn();
    const [bought] = (await page(gateway, '/v1/purchases?limit=1', apiKey)).data;
    const { base } = sale.chains;
    const { store, clock, config } = gateway.services;
    await base.mint(base.facilitator.address, 1_000_000n);
    const { networks } = config.x402;
    const context = {
      store,
      clock,
      x402: { networks, refundKeys: { ...config.x402.refundKeys, evm: base.facilitator.privateKey } },
      tokens: createTokenTexts(networks),
    };
    const refund = (amount: string) =>
      runRefund(
        { id: randomUUID(), payment: String(bought?.['id']), amount, acceptsUnknown: false, note: null },
        context,
      );
    const account = await store.findWalletAccount({
      wallet: `eip155:${base.buyer.address.toLowerCase()}`,
      isSandbox: true,
    });
    const { id: accountId, available } = account ?? { id: '', available: 0n };
    const owned = await base.balanceOf(base.buyer.address);
    expect((await refund('0.20')).outcome).toMatch(/^(?:landed|settled)$/);
    expect((await base.balanceOf(base.buyer.address)) - owned).toBe(200_000n);
    expect(await read(gateway, '/v1/balance', apiKey)).toMatchObject({
      balance_usd: formatUsd(available - parseUsd('0.20')),
    });
    const spent = {
      id: randomUUID(),
      accountId,
      type: 'adjustment' as const,
      amount: -available + parseUsd('0.30'),
      note: 'spent',
      now: clock.now(),
    };
    await store.postEntry(spent);
    const { refunds } = (await read(gateway, `/v1/receipts/${String(bought?.['id'])}`, apiKey))[
      'payment'
    ] as { refunds: Body[] };
    expect(refunds).toMatchObject([{ amount_units: '200000' }]);
    expect((await store.checkLedger()).problems).toEqual([]);
    const [{ id: refundId } = { id: '' }] = await store.listRefunds({
      payment: String(bought?.['id']),
      limit: 1,
    });
    await store.advanceRefund({ id: refundId, from: ['sending'], to: 'settled', now: clock.now() });
    await expect(refund('0.30')).rejects.toMatchObject({
      code: 'refund_not_possible',
      message: expect.stringContaining('takes $0.30 from it, but $0.10 is available'),
    });
  });
});
