import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeBase64Json, encodeBase64Json } from '../../../src/payments/chains/core/wire.ts';
import type { Challenge, Proofs, X402Gate } from '../../../src/payments/sale/gate.ts';
import {
  codeOf,
  createSale,
  hasty,
  overRest,
  price,
  priceUnits,
  refusalOf,
  served,
  startGateFixture,
  unpaid,
  untilPending,
  type GateFixture,
} from '../support/gate-fixture.ts';

let fixture: GateFixture;
let gate: X402Gate;
let challenge: Challenge;
beforeAll(async () => {
  fixture = await startGateFixture();
  gate = fixture.openGate();
  challenge = gate.challenge({ price, ...overRest });
});
afterAll(() => fixture?.close());

/** A v2 proof as a buyer sends it that names its payment. */
const proveAs = async (id: unknown, chain: 'base' | 'solana' = 'base'): Promise<Proofs> => {
  const { paymentSignature = '' } = await fixture.buyer.prove(challenge, chain);
  const proof = decodeBase64Json(paymentSignature);
  if (typeof proof !== 'object') throw new Error('a proof is an object');
  const extensions = { 'payment-identifier': { info: { required: false, id }, schema: {} } };
  return { paymentSignature: encodeBase64Json({ ...proof, extensions }) };
};
const newId = (): string => `pay_${randomUUID().replaceAll('-', '')}`;

describe('a payment that the buyer has named', () => {
  it('is offered in the challenge', () => {
    expect(challenge.paymentRequired.extensions).toMatchObject({
      'payment-identifier': { info: { required: false } },
    });
  });

  it.each(['base', 'solana'] as const)('is served once, and again for the same proof (%s)', async (chain) => {
    const proofs = await proveAs(newId(), chain);
    const sale = createSale(`named on ${chain}`);
    const before = await fixture.balances(chain);
    const first = served(await gate.sellAnswer(sale.request(proofs)));
    const second = served(await gate.sellAnswer(sale.request(proofs)));
    expect(second).toEqual({ ...first, replayed: true });
    expect((await fixture.balances(chain)).seller).toBe(before.seller + priceUnits);
  });

  it('is not charged a second time when the buyer signs anew after a lost answer', async () => {
    const id = newId();
    const sale = createSale('signed anew');
    const before = await fixture.balances('base');
    const first = await proveAs(id);
    served(await gate.sellAnswer(sale.request(first)));
    const refused = await refusalOf(gate.sellAnswer(sale.request(await proveAs(id))));
    expect(refused.code).toBe('payment_conflict');
    expect(refused.message).toContain('send that payment again as it was');
    expect(refused.headers).toMatchObject({ 'x-should-retry': 'false' });
    const other = createSale('signed anew for something else').request(await proveAs(id));
    expect(await codeOf(gate.sellAnswer(other))).toBe('payment_conflict');
    served(await gate.sellAnswer(sale.request(first)));
    expect(sale.produced).toBe(1);
    expect((await fixture.balances('base')).seller).toBe(before.seller + priceUnits);
  });

  it('is not charged a second time while its outcome is not known', async () => {
    const id = newId();
    const sale = createSale('named and unknown');
    const before = await fixture.balances('base');
    const impatient = fixture.openGate({ timeouts: hasty });
    const first = await proveAs(id);
    const lost = fixture.chains.base.controls.inject({
      fault: 'lose-answer',
      methods: ['eth_sendRawTransaction'],
      times: 1,
    });
    const silence = fixture.chains.base.controls.inject({
      fault: 'unavailable',
      methods: ['eth_getTransactionReceipt'],
    });
    await untilPending(() => impatient.sellAnswer(sale.request(first)));
    expect(await codeOf(gate.sellAnswer(sale.request(await proveAs(id))))).toBe('payment_conflict');
    lost.remove();
    silence.remove();
    served(await gate.sellAnswer(sale.request(first)));
    expect((await fixture.balances('base')).seller).toBe(before.seller + priceUnits);
  });

  it('is told apart by its name even when the new proof answers other terms', async () => {
    const id = newId();
    served(await gate.sellAnswer(createSale('other terms').request(await proveAs(id))));
    const dearer = createSale('other terms').request(await proveAs(id), { price: 2n * price });
    expect(await codeOf(gate.sellAnswer(dearer))).toBe('payment_conflict');
  });

  it('may be named so again once its first proof was refused', async () => {
    const id = newId();
    const poor = await fixture.createBuyer(1n);
    const { paymentSignature = '' } = await poor.prove(challenge, 'base');
    const proof = decodeBase64Json(paymentSignature);
    if (typeof proof !== 'object') throw new Error('a proof is an object');
    const extensions = { 'payment-identifier': { info: { required: false, id } } };
    const sale = createSale('named by a poor buyer');
    unpaid(await gate.sellAnswer(sale.request({ meta: { ...proof, extensions } })));
    expect(served(await gate.sellAnswer(sale.request(await proveAs(id)))).replayed).toBe(false);
  });

  it.each([
    ['too short', 'pay_123'],
    ['too long', 'x'.repeat(129)],
    ['of other characters', 'pay_7d5d747be160e280 ; drop table'],
    ['no text', 1_234_567_890_123_456],
  ])('with a name that is %s is refused, and nothing is lost', async (_fault, id) => {
    const proofs = await proveAs(id);
    const sale = createSale('named wrongly');
    expect(await codeOf(gate.sellAnswer(sale.request(proofs)))).toBe('invalid_payment');
    expect(sale.produced).toBe(0);
  });

  it('that many proofs claim at once is charged to one of them', async () => {
    const id = newId();
    const sale = createSale('claimed at once');
    const before = await fixture.balances('base');
    const all = await Promise.all(Array.from({ length: 6 }, () => proveAs(id)));
    const outcomes = await Promise.allSettled(all.map((proofs) => gate.sellAnswer(sale.request(proofs))));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'payment_conflict' });
    expect(sale.produced).toBe(1);
    expect((await fixture.balances('base')).seller).toBe(before.seller + priceUnits);
  });
});
