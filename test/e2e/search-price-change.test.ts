import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { decodeBase64Json } from '../../src/payments/chains/core/wire.ts';
import { parseUsd } from '../../src/kit/money.ts';
import { startChains, type Chains } from '../chains/start-chains.ts';
import { createBuyer } from '../payments/support/buyer.ts';
import { startTestGateway, whenSearchReady, type TestGateway } from './start-test-gateway.ts';
import { overRest } from '../payments/wire/sale.ts';

let chains: Chains;
let dataDir: string;
beforeAll(async () => {
  chains = await startChains();
  await chains.base.mint(chains.base.buyer.address, 100_000_000n);
  dataDir = await mkdtemp(join(tmpdir(), 'causeway-prices-'));
});
afterAll(async () => {
  await chains?.stop();
  await rm(dataDir, { recursive: true, force: true });
});

const start = async (pricing: 'dynamic' | 'flat'): Promise<TestGateway> => {
  const gateway = await startTestGateway({
    environment: { ...chains.environment, DATA_DIR: dataDir, SEARCH_PRICING: pricing },
  });
  await whenSearchReady(gateway);
  return gateway;
};

describe('an operator who changes prices and starts anew', () => {
  it('keeps the price that buyers were told minutes ago, for the same request only', async () => {
    const buyer = await createBuyer(chains);
    const cheap = await start('dynamic');
    const told = cheap.services.x402.challenge({ price: parseUsd('0.12'), ...overRest });
    const proofs = [await buyer.prove(told, 'base'), await buyer.prove(told, 'base')];
    await vi.waitUntil(
      async () => (await cheap.services.store.listOfferedTerms({ since: 0 })).length > 0,
      60_000,
    );
    await cheap.stop();

    const dear = await start('flat');
    const search = (limit: number, proof: number): Promise<Response> =>
      dear.call(`/v1/search?limit=${limit}`, {
        apiKey: null,
        headers: { 'payment-signature': proofs[proof]?.paymentSignature ?? '' },
      });
    const before = await chains.base.balanceOf(chains.base.seller.address);
    const paid = await search(30, 0);
    expect([paid.status, await paid.json()]).toEqual([200, expect.objectContaining({ count: 30 })]);
    expect((await chains.base.balanceOf(chains.base.seller.address)) - before).toBe(120_000n);

    const tooLittle = await search(40, 1);
    expect(tooLittle.status).toBe(402);
    expect(decodeBase64Json(tooLittle.headers.get('payment-required') ?? '')).toMatchObject({
      error: 'payment_amount_mismatch',
      accepts: [{ amount: '500000' }, { amount: '500000' }],
    });
    await dear.stop();
  });
});
