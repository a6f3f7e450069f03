import { verifyReceiptSignatureJWS } from '@x402/extensions/offer-receipt';
import { importJWK, type JWK } from 'jose';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createOperations } from '../../src/operations/index.ts';
import { readConfig } from '../../src/config/config.ts';
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
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({
    operations: createOperations(readConfig({}, null).search, undefined, { isOn: true }),
  });
});
afterAll(() => gateway.stop());

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
    const seen: Body[] = [];
    for (const id of ids) {
      const told = await tool(assistant, 'get_receipt', { receipt_id: id });
      expect(told).toMatchObject({ ...(await read(gateway, `/v1/receipts/${String(id)}`, apiKey)) });
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
