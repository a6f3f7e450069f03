import { createPublicClient, http } from 'viem';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { decodeBase64Json, encodeBase64Json } from '../../../src/payments/chains/core/wire.ts';
import { parseProof, paymentIdentity } from '../../../src/payments/wire/parse-proof.ts';
import { WorkNotEndedError } from '../../../src/payments/sale/scheme.ts';
import type { Challenge, AnswerOrder, Proofs, X402Gate } from '../../../src/payments/sale/gate.ts';
import type { Payment } from '../../../src/store/store.ts';
import { permit2Addresses } from '../../chains/permit2-code.ts';
import {
  codeOf,
  createSale,
  hasty,
  overRest,
  price,
  priceUnits,
  served,
  startGateFixture,
  unpaid,
  type GateFixture,
} from '../support/gate-fixture.ts';
import { createUptoBuyer, type UptoBuyer } from '../support/upto-buyer.ts';
import { dieAt } from '../support/dying-store.ts';

const oneUsd = 1_000_000n;
/** Nano-dollars: finer than the token, so it is rounded up to 1,858 units. */
const charge = 1_857_001n;
const chargedUnits = 1_858n;
const longestMs = 120_000;
const upto = { workSeconds: longestMs / 1_000 };

let fixture: GateFixture;
let gate: X402Gate;
let challenge: Challenge;
beforeAll(async () => {
  fixture = await startGateFixture();
  gate = await openGate();
  challenge = gate.challenge({ price, ...overRest, upto });
});
afterEach(() => fixture.chains.base.controls.clearFaults());
afterAll(() => fixture?.close());

const openGate = async (options: Parameters<GateFixture['openGate']>[0] = {}): Promise<X402Gate> => {
  const opened = fixture.openGate({ networks: fixture.localNetworks.slice(0, 1), ...options });
  await opened.warmUp();
  return opened;
};

/** A request that is metered: `used` is what it costs, in nano-dollars. */
const metered = (
  name: string,
  proofs: Proofs | null,
  { used = charge, work = () => Promise.resolve() }: { used?: bigint; work?: () => Promise<void> } = {},
): AnswerOrder => ({
  ...createSale(name).request(proofs),
  client: name,
  upto: {
    longestMs,
    produce: async () => {
      await work();
      return { result: JSON.stringify({ answer: name }), charge: used };
    },
  },
});

const buyerWith = (amount: bigint): Promise<UptoBuyer> => createUptoBuyer(fixture.chains.base, amount);
const balanceOf = ({ address }: { address: `0x${string}` }): Promise<bigint> =>
  fixture.chains.base.balanceOf(address);
const earned = (): Promise<bigint> => balanceOf(fixture.chains.base.seller);
const paymentOf = async (proofs: Proofs): Promise<Payment> => {
  const payment = await fixture.store.getPayment(await paymentIdentity(parseProof(proofs)));
  if (payment === null) throw new Error('there is no such payment');
  return payment;
};
const schemesOf = ({ paymentRequired }: Challenge): string[] =>
  paymentRequired.accepts.map(({ scheme }) => scheme);

const uptoProof = z.looseObject({
  accepted: z.record(z.string(), z.unknown()),
  payload: z.looseObject({
    permit2Authorization: z.looseObject({
      permitted: z.record(z.string(), z.string()),
      witness: z.record(z.string(), z.string()),
    }),
  }),
});
type UptoProof = z.infer<typeof uptoProof>;

/** The proof with something changed after it was signed. */
const tamper = ({ paymentSignature }: Proofs, change: (proof: UptoProof) => void): Proofs => {
  const proof = uptoProof.parse(decodeBase64Json(paymentSignature ?? ''));
  change(proof);
  return { paymentSignature: encodeBase64Json(proof) };
};

describe('a payment of what was used', () => {
  it('is offered before the whole price, with the only account that may settle it', () => {
    const { accepts, extensions } = challenge.paymentRequired;
    const { facilitator } = fixture.chains.base;
    expect(accepts).toMatchObject([
      {
        scheme: 'upto',
        amount: String(priceUnits),
        // The buyer's time, the work and the settlement.
        maxTimeoutSeconds: 300 + 120 + 60,
        extra: { facilitatorAddress: facilitator.address, assetTransferMethod: 'permit2', name: 'USDC' },
      },
      { scheme: 'exact', maxTimeoutSeconds: 300 },
    ]);
    expect(Object.keys(extensions ?? {})).toContain('eip2612GasSponsoring');
    expect(challenge.body.accepts).toMatchObject([{ scheme: 'exact' }]);
    expect(challenge.header.length).toBeLessThanOrEqual(3_200);
    expect(decodeBase64Json(challenge.header)).toMatchObject({
      extensions: { eip2612GasSponsoring: { info: { version: '1' } } },
    });
    expect(schemesOf(gate.challenge({ price, ...overRest }))).toEqual(['exact']);
  });

  it.each([
    ['less than the most', charge, chargedUnits],
    ['the most', price, priceUnits],
  ] as const)('takes %s from a wallet without any coin of the chain', async (name, used, units) => {
    const buyer = await buyerWith(oneUsd);
    const before = await earned();
    const proofs = await buyer.prove(challenge);
    const bought = served(await gate.sellAnswer(metered(name, proofs, { used })));
    expect(JSON.parse(bought.result)).toEqual({ answer: name });
    expect(bought.receipt?.response).toMatchObject({ success: true, amount: String(units) });
    expect(await balanceOf(buyer)).toBe(oneUsd - units);
    expect(await earned()).toBe(before + units);
    expect(await paymentOf(proofs)).toMatchObject({ amount: priceUnits, settledAmount: units });
    const again = served(await gate.sellAnswer(metered(name, proofs, { used: price })));
    expect(again).toMatchObject({ replayed: true, result: bought.result, transaction: bought.transaction });
    expect(await balanceOf(buyer)).toBe(oneUsd - units);
  });

  it('takes nothing where nothing was used, and leaves the proof as good as it was', async () => {
    const buyer = await buyerWith(oneUsd);
    const proofs = await buyer.prove(challenge);
    const free = served(await gate.sellAnswer(metered('free', proofs, { used: 0n })));
    expect(free).toMatchObject({ transaction: null, receipt: { response: { success: true, amount: '0' } } });
    expect(await paymentOf(proofs)).toMatchObject({ state: 'rejected', reason: 'not_charged' });
    served(await gate.sellAnswer(metered('free', proofs)));
    expect(await balanceOf(buyer)).toBe(oneUsd - chargedUnits);
  });

  it('keeps its proof while nobody knows what the work costs, and is made when the buyer comes back', async () => {
    const buyer = await buyerWith(oneUsd);
    const proofs = await buyer.prove(challenge);
    const work = () => Promise.reject(new WorkNotEndedError('the job goes on'));
    expect(await codeOf(gate.sellAnswer(metered('goes on', proofs, { work })))).toBe('payment_in_progress');
    expect(await paymentOf(proofs)).toMatchObject({ state: 'verified' });
    const later = await openGate({ clock: { now: () => Date.now() + 31_000 } });
    served(await later.sellAnswer(metered('goes on', proofs)));
    expect(await balanceOf(buyer)).toBe(oneUsd - chargedUnits);
  });

  it('is settled before a gate that is closed meanwhile has ended', async () => {
    const buyer = await buyerWith(oneUsd);
    const proofs = await buyer.prove(challenge);
    const ending = await openGate();
    const [working, worked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const work = (): Promise<void> => {
      working.resolve();
      return worked.promise;
    };
    const paying = ending.sellAnswer(metered('closed meanwhile', proofs, { work }));
    await working.promise;
    const closing = ending.close();
    worked.resolve();
    await closing;
    expect((await paymentOf(proofs)).state).toMatch(/settled|delivered/);
    served(await paying);
  });

  it('can be made with all of the price in advance', async () => {
    const buyer = await fixture.createBuyer(oneUsd);
    const sale = createSale('in advance');
    const request = { ...metered('in advance', null), ...sale.request(await buyer.prove(challenge, 'base')) };
    served(await gate.sellAnswer(request));
    expect(sale.produced).toBe(1);
    expect(await fixture.chains.base.balanceOf(buyer.addresses.base)).toBe(oneUsd - priceUnits);
  });

  it('is taken even if the buyer leaves when the work is done', async () => {
    const buyer = await buyerWith(oneUsd);
    const proofs = await buyer.prove(challenge);
    const client = new AbortController();
    const work = () => Promise.resolve(client.abort());
    await gate.sellAnswer({ ...metered('left', proofs, { work }), signal: client.signal });
    expect(await balanceOf(buyer)).toBe(oneUsd - chargedUnits);
  });

  it('is given back as far as it was taken', async () => {
    const buyer = await buyerWith(oneUsd);
    const proofs = await buyer.prove(challenge);
    served(await gate.sellAnswer(metered('to give back', proofs)));
    const { identity } = await paymentOf(proofs);
    const plan = { payment: identity, note: null, acceptsUnknown: false, now: Date.now() };
    const { store } = fixture;
    expect(await store.planRefund({ ...plan, id: 'rf_1', amount: chargedUnits + 1n })).toEqual({
      outcome: 'too_much',
      left: chargedUnits,
    });
    expect(await store.planRefund({ ...plan, id: 'rf_2', amount: null })).toMatchObject({
      refund: { amount: chargedUnits },
    });
    expect((await paymentOf(proofs)).isRefunded).toBe(true);
  });
});

describe('a proof of a payment of what is used is refused', () => {
  it.each([
    [
      'for another facilitator',
      'payment_facilitator_mismatch',
      (proof: UptoProof): void => {
        proof.payload.permit2Authorization.witness['facilitator'] = `0x${'12'.repeat(20)}`;
      },
    ],
    [
      'without a facilitator',
      'payment_facilitator_mismatch',
      (proof: UptoProof): void => void delete proof.payload.permit2Authorization.witness['facilitator'],
    ],
    [
      'for less',
      'payment_amount_mismatch',
      (proof: UptoProof): void => void (proof.payload.permit2Authorization.permitted['amount'] = '1'),
    ],
    [
      'as another scheme',
      'payment_method_mismatch',
      (proof: UptoProof): void => void (proof.accepted['scheme'] = 'exact'),
    ],
    [
      'without its permit',
      'permit2_allowance_required',
      (proof: UptoProof): void => void delete proof['extensions'],
    ],
  ] as const)('%s', async (_what, reason, change) => {
    const buyer = await buyerWith(oneUsd);
    const proofs = tamper(await buyer.prove(challenge), change);
    expect(unpaid(await gate.sellAnswer(metered('changed', proofs))).challenge.body.error).toBe(reason);
  });

  it('where it was not offered', async () => {
    const buyer = await buyerWith(oneUsd);
    const request = { ...metered('not offered', await buyer.prove(challenge)), upto: undefined };
    expect(unpaid(await gate.sellAnswer(request)).challenge.body.error).toBe('payment_scheme_mismatch');
  });

  it('that would run out before the work is done', async () => {
    const buyer = await buyerWith(oneUsd);
    const proofs = await buyer.prove(challenge);
    const later = await openGate({ clock: { now: () => Date.now() + 301_000 } });
    const refused = unpaid(await later.sellAnswer(metered('late', proofs)));
    expect(refused.challenge.body.error).toBe('permit2_deadline_expired');
  });
});

describe('two payments of what is used by one wallet', () => {
  it('at once are one, and the other one may be paid in advance', async () => {
    const buyer = await buyerWith(oneUsd);
    const [first, second] = [await buyer.prove(challenge), await buyer.prove(challenge)];
    const both = { isWorking: Promise.withResolvers<void>(), isRefused: Promise.withResolvers<void>() };
    const work = async (): Promise<void> => {
      both.isWorking.resolve();
      await both.isRefused.promise;
    };
    const paying = gate.sellAnswer(metered('first', first, { work }));
    await both.isWorking.promise;
    const refused = unpaid(await gate.sellAnswer(metered('second', second)));
    both.isRefused.resolve();
    served(await paying);
    expect(refused.challenge.body.error).toBe('upto_payments_open');
    expect(schemesOf(refused.challenge)).toEqual(['exact']);
    expect(await balanceOf(buyer)).toBe(oneUsd - chargedUnits);
    // Its permit for Permit2 has the nonce of the first one.
    const stale = unpaid(await gate.sellAnswer(metered('second', second)));
    expect(stale.challenge.body.error).toBe('permit2_allowance_required');
    served(await gate.sellAnswer(metered('third', await buyer.prove(challenge))));
  });

  it('at once are two where Permit2 may take enough, and no third', async () => {
    const buyer = await buyerWith(oneUsd);
    await buyer.callToken('approve', [permit2Addresses.permit2, oneUsd]);
    const names = ['one', 'two', 'three'];
    const proofs = await Promise.all(names.map(() => buyer.prove(challenge)));
    let started = 0;
    const all = Promise.withResolvers<void>();
    const work = async (): Promise<void> => {
      started += 1;
      await all.promise;
    };
    const paying = names.map((name, index) =>
      gate.sellAnswer(metered(name, proofs[index] ?? null, { work })),
    );
    const refused = unpaid(await Promise.race(paying));
    all.resolve();
    const outcomes = await Promise.all(paying);
    expect(refused.challenge.body.error).toBe('upto_payments_open');
    expect(started).toBe(2);
    expect(outcomes.filter(({ outcome }) => outcome === 'served')).toHaveLength(2);
    expect(await balanceOf(buyer)).toBe(oneUsd - 2n * chargedUnits);
  });
});

describe('the settlement of a payment of what was used', () => {
  it('fails without a transaction when the money is gone, and that payer pays in advance from then on', async () => {
    const { base } = fixture.chains;
    const buyer = await buyerWith(oneUsd);
    const proofs = await buyer.prove(challenge);
    const nextNonce = (): Promise<number> =>
      createPublicClient({ transport: http(base.rpcUrl) }).getTransactionCount(base.facilitator);
    const before = await nextNonce();
    const work = () => buyer.callToken('transfer', [base.seller.address, oneUsd]);
    const failed = unpaid(await gate.sellAnswer(metered('gone', proofs, { work })));
    expect(failed.challenge.body.error).toBe('permit2_insufficient_balance');
    expect(await paymentOf(proofs)).toMatchObject({ state: 'failed', transaction: null });
    expect(await nextNonce()).toBe(before);

    await base.mint(buyer.address, oneUsd);
    let worked = false;
    const again = metered('again', await buyer.prove(challenge), {
      work: () => Promise.resolve(void (worked = true)),
    });
    const refused = unpaid(await gate.sellAnswer(again));
    expect(refused.challenge.body.error).toBe('upto_not_trusted');
    expect(schemesOf(refused.challenge)).toEqual(['exact']);
    expect(worked).toBe(false);
    const inAdvance = createSale('again').request(await buyer.prove(refused.challenge));
    served(await gate.sellAnswer({ ...again, ...inAdvance }));
  });

  it('is found on the chain, with what was used, when it lost its answer', async () => {
    const buyer = await buyerWith(oneUsd);
    const proofs = await buyer.prove(challenge);
    const { controls } = fixture.chains.base;
    const silent = await openGate({ timeouts: hasty });
    const methods = ['eth_getTransactionReceipt', 'eth_getTransactionByHash', 'eth_getLogs'];
    const work = () => Promise.resolve(void controls.inject({ fault: 'unavailable', methods }));
    expect(await codeOf(silent.sellAnswer(metered('lost answer', proofs, { work })))).toBe('payment_pending');
    controls.clearFaults();
    const later = await openGate({ clock: { now: () => Date.now() + 60_000 } });
    await later.reconcile({ limit: 100 });
    const found = await paymentOf(proofs);
    expect(found).toMatchObject({ state: 'settled', settledAmount: chargedUnits });
    expect(JSON.parse(found.receipt ?? '')).toMatchObject({ amount: String(chargedUnits) });
    // Without its hash, by the nonce of Permit2 and the buyer's payments.
    await fixture.store.advancePayment({
      identity: found.identity,
      from: ['settled'],
      to: 'unknown',
      set: { transaction: null, checkAt: 0 },
      now: Date.now(),
    });
    await later.reconcile({ limit: 100 });
    expect(await paymentOf(proofs)).toMatchObject({ state: 'settled', transaction: found.transaction });
  });

  it.each(['produced', 'broadcasting'] as const)(
    'is made without the buyer of a process that died once it was %s',
    async (state) => {
      const buyer = await buyerWith(oneUsd);
      const proofs = await buyer.prove(challenge);
      const { store, dead, bury } = dieAt(fixture.store, 'after', state);
      const dying = await openGate({ store });
      const lost = dying.sellAnswer(metered(`left ${state}`, proofs)).catch(() => null);
      await dead;
      const later = await openGate({ clock: { now: () => Date.now() + 31_000 } });
      await later.reconcile({ limit: 100 });
      expect(await paymentOf(proofs)).toMatchObject({ state: 'settled', settledAmount: chargedUnits });
      expect(await balanceOf(buyer)).toBe(oneUsd - chargedUnits);
      bury();
      await lost;
    },
  );

  it.each([
    ['before', 'produced', 'paid and served when the buyer comes back, by new work'],
    ['after', 'produced', 'paid and served when the buyer comes back'],
    ['before', 'settled', 'served when the buyer comes back'],
  ] as const)('of a process that died %s it was %s is %s', async (when, state, _end) => {
    const buyer = await buyerWith(oneUsd);
    const proofs = await buyer.prove(challenge);
    const { store, dead, bury } = dieAt(fixture.store, when, state);
    const name = `${when} ${state}`;
    const dying = await openGate({ store });
    const lost = dying.sellAnswer(metered(name, proofs)).catch(() => null);
    await dead;
    const later = await openGate({ clock: { now: () => Date.now() + 31_000 } });
    served(await later.sellAnswer(metered(name, proofs)));
    expect(await balanceOf(buyer)).toBe(oneUsd - chargedUnits);
    bury();
    await lost;
  });
});
