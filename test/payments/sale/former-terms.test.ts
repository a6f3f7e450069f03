import { decodeBase64Json, encodeBase64Json } from '../../../src/payments/chains/core/wire.ts';
import { dieAt } from '../support/dying-store.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { X402GateOptions } from '../../../src/payments/sale/gate.ts';
import { parseUsd } from '../../../src/kit/money.ts';
import {
  createSale,
  overRest,
  price,
  priceUnits,
  served,
  startGateFixture,
  unpaid,
  type GateFixture,
} from '../support/gate-fixture.ts';
import { describeSale } from '../wire/sale.ts';

const minuteMs = 60_000;
const chains = ['base', 'solana'] as const;
const higher = parseUsd('0.50');
/** As a search says it: what it costs by each rule. */
const formerPrices = { cheap: price, dear: higher };

let fixture: GateFixture;
beforeAll(async () => {
  fixture = await startGateFixture();
});
afterAll(() => fixture?.close());

const pricedBy = (pricing: string): Pick<X402GateOptions, 'sales'> => ({
  sales: [{ ...describeSale(), pricing }],
});
const openCheap = (options: Partial<X402GateOptions> = {}) =>
  fixture.openGate({ ...pricedBy('cheap'), ...options });
const openDear = (aheadMs = 0, options: Partial<X402GateOptions> = {}) =>
  fixture.openGate({ ...pricedBy('dear'), clock: { now: () => Date.now() + aheadMs }, ...options });

/** Begins the upkeep of a gate and waits for its first round, in which the terms are noted. */
const offer = async (gate: ReturnType<typeof openCheap>): Promise<void> => {
  const stop = new AbortController();
  const ended = gate.begin(stop.signal);
  await expect
    .poll(async () => (await fixture.store.listOfferedTerms({ since: 0 })).length)
    .toBeGreaterThan(0);
  stop.abort();
  await ended;
};

describe('a price that changes between challenge and proof', () => {
  it.each(chains)('stays valid for who was told it (%s)', async (chain) => {
    await offer(openCheap());
    const challenge = openCheap().challenge({ price, ...overRest });
    const before = await fixture.balances(chain);
    const proofs = await fixture.buyer.prove(challenge, chain);
    const sale = createSale(`told before, ${chain}`);
    served(await openDear().sellAnswer(sale.request(proofs, { price: higher, formerPrices })));
    expect((await fixture.balances(chain)).seller).toBe(before.seller + priceUnits);
    const again = await openDear().sellAnswer(sale.request(proofs, { price: higher, formerPrices }));
    expect(served(again).replayed).toBe(true);
  });

  it('is gone some minutes later, and the new terms are told', async () => {
    await offer(openCheap());
    const proofs = await fixture.buyer.prove(openCheap().challenge({ price, ...overRest }), 'base');
    const request = createSale('told long before').request(proofs, { price: higher, formerPrices });
    const refused = unpaid(await openDear(8 * minuteMs).sellAnswer(request));
    expect(refused.challenge.body).toMatchObject({
      error: 'payment_amount_mismatch',
      x402: { amount: '0.50' },
    });
  });

  it('is held by a rule that this version knows, and no other', async () => {
    await offer(fixture.openGate({ ...pricedBy('forgotten') }));
    const odd = parseUsd('0.07');
    const proofs = await fixture.buyer.prove(openCheap().challenge({ price: odd, ...overRest }), 'base');
    const request = createSale('unknown rule').request(proofs, { price: higher, formerPrices });
    expect(unpaid(await openDear().sellAnswer(request)).challenge.body.error).toBe('payment_amount_mismatch');
  });
});

describe('a token that changes', () => {
  const eurx = {
    symbol: 'EURX',
    address: '0x2222222222222222222222222222222222222222',
    decimals: 6,
    eip712: { name: 'X', version: '1' },
    transfer: 'eip3009',
  } as const;
  const withToken = () =>
    fixture.localNetworks.map((network) =>
      network.network === fixture.chains.base.network ? { ...network, asset: eurx } : network,
    );

  it('hides no v1 payment that was charged in the one before', async () => {
    const sale = createSale('charged in the token before');
    const proofs = await fixture.buyer.prove(openCheap().challenge({ price, ...overRest }), 'base', 1);
    const { store, dead } = dieAt(fixture.store, 'before', 'settled');
    void openCheap({ store }).sellAnswer(sale.request(proofs));
    await dead;
    const later = openCheap({ networks: withToken(), clock: { now: () => Date.now() + minuteMs } });
    expect(served(await later.sellAnswer(sale.request(proofs, { formerPrices }))).replayed).toBe(true);
  });

  it('lets one authorization buy once, in whichever dialect it comes', async () => {
    await offer(openCheap());
    const v2 = await fixture.buyer.prove(openCheap().challenge({ price, ...overRest }), 'base');
    const { payload } = Object(decodeBase64Json(v2.paymentSignature ?? ''));
    const v1 = encodeBase64Json({ x402Version: 1, scheme: 'exact', network: 'base-sepolia', payload });
    const gate = openCheap({ networks: withToken() });
    const sales = [createSale('as v1'), createSale('as v2')];
    const outcomes = await Promise.allSettled([
      gate.sellAnswer(sales[0]!.request({ xPayment: v1 }, { formerPrices })),
      gate.sellAnswer(sales[1]!.request(v2, { formerPrices })),
    ]);
    const all = await fixture.store.listPayments({ limit: 50 });
    const nonce = String(payload.authorization.nonce).toLowerCase();
    expect(all.filter(({ identity }) => identity.endsWith(nonce))).toHaveLength(1);
    expect(outcomes.filter(({ status }) => status === 'fulfilled').length).toBeLessThanOrEqual(1);
  });
});

describe('a wallet that changes between challenge and proof', () => {
  it.each(chains)('is still paid by who was told it (%s)', async (chain) => {
    await offer(openCheap());
    const before = await fixture.balances(chain);
    const proofs = await fixture.buyer.prove(openCheap().challenge({ price, ...overRest }), chain);
    const { base, solana } = fixture.chains;
    const moved = fixture.localNetworks.map((network) => ({
      ...network,
      payTo: network.network === base.network ? base.facilitator.address : solana.buyer.address,
    }));
    const gate = openCheap({ networks: moved });
    const strangers = createSale(`unheard-of wallet, ${chain}`);
    served(await gate.sellAnswer(strangers.request(proofs, { formerPrices })));
    expect((await fixture.balances(chain)).seller).toBe(before.seller + priceUnits);
  });
});
