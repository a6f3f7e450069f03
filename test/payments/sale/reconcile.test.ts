import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Challenge, Proofs, X402Gate } from '../../../src/payments/sale/gate.ts';
import type { ListedPayment, Payment } from '../../../src/store/store.ts';
import { dieAt } from '../support/dying-store.ts';
import {
  createSale,
  overRest,
  price,
  priceUnits,
  served,
  startGateFixture,
  unpaid,
  type GateFixture,
  type Sale,
} from '../support/gate-fixture.ts';
import type { PaymentState } from '../../../src/rules/payments.ts';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const chains = ['base', 'solana'] as const;

let fixture: GateFixture;
let challenge: Challenge;
beforeAll(async () => {
  fixture = await startGateFixture();
  challenge = fixture.openGate().challenge({ price, ...overRest });
});
afterEach(() => {
  fixture.chains.base.controls.clearFaults();
  fixture.chains.solana.controls.clearFaults();
});
afterAll(() => fixture?.close());

const openAfter = (aheadMs: number, options: Parameters<GateFixture['openGate']>[0] = {}): X402Gate =>
  fixture.openGate({ clock: { now: () => Date.now() + aheadMs }, ...options });

/** Looks at this payment alone: what other tests left behind is put off. */
const reconcile = async (gate: X402Gate, { identity }: ListedPayment) => {
  const report = await gate.reconcile({ limit: 100 });
  return { report, payment: await find(identity) };
};

const find = async (identity: string): Promise<Payment> => {
  const payment = await fixture.store.getPayment(identity);
  if (payment === null) throw new Error('there is no such payment');
  return payment;
};

/** The payment that a process left behind which died there. */
const leaveBehind = async (
  sale: Sale,
  proofs: Proofs,
  { when, state }: { when: 'before' | 'after'; state: PaymentState },
): Promise<ListedPayment> => {
  const { store, dead } = dieAt(fixture.store, when, state);
  void fixture.openGate({ store }).sellAnswer(sale.request(proofs));
  await dead;
  const [newest] = await fixture.store.listPayments({ limit: 1 });
  if (newest === undefined) throw new Error('there is no payment');
  return newest;
};

describe('what a dead process left behind', () => {
  it('is left alone for a while longer than its lease, as clocks differ', async () => {
    const sale = createSale('clocks differ');
    const left = await leaveBehind(sale, await fixture.buyer.prove(challenge, 'base'), {
      when: 'after',
      state: 'reserved',
    });
    expect((await reconcile(openAfter(40_000), left)).payment.state).toBe('reserved');
    expect((await reconcile(openAfter(minuteMs), left)).payment.state).toBe('rejected');
  });

  it.each(['reserved', 'verified'] as const)('%s is free again, and its proof pays', async (state) => {
    const sale = createSale(`left ${state}`);
    const proofs = await fixture.buyer.prove(challenge, 'base');
    const left = await leaveBehind(sale, proofs, { when: 'after', state });
    expect((await reconcile(openAfter(0), left)).payment.state).toBe(state);
    const { payment, report } = await reconcile(openAfter(minuteMs), left);
    expect(payment).toMatchObject({
      state: 'rejected',
      reason: 'interrupted',
      leaseOwner: null,
      checkAt: null,
    });
    expect(report.resolved).toBe(1);
    served(await fixture.openGate().sellAnswer(sale.request(proofs)));
  });

  it.each(chains)(
    'with a result and nothing sent waits for its buyer, who is charged once (%s)',
    async (chain) => {
      const sale = createSale(`left produced on ${chain}`);
      const before = await fixture.balances(chain);
      const proofs = await fixture.buyer.prove(challenge, chain);
      const left = await leaveBehind(sale, proofs, { when: 'after', state: 'produced' });
      const { payment } = await reconcile(openAfter(minuteMs), left);
      expect(payment.state).toBe('produced');
      expect(payment.checkAt).toBeGreaterThan(Date.now() + minuteMs);
      expect(await fixture.balances(chain)).toEqual(before);
      const paid = served(await openAfter(minuteMs).sellAnswer(sale.request(proofs)));
      expect(paid.replayed).toBe(true);
      expect(sale.produced).toBe(1);
      expect((await fixture.balances(chain)).seller).toBe(before.seller + priceUnits);
    },
  );

  it('with a result whose proof has run out is given up, and nobody was charged', async () => {
    const sale = createSale('left for good');
    const before = await fixture.balances('solana');
    const proofs = await fixture.buyer.prove(challenge, 'solana');
    const left = await leaveBehind(sale, proofs, { when: 'after', state: 'produced' });
    fixture.chains.solana.controls.expireBlockhash();
    const { payment } = await reconcile(openAfter(5 * minuteMs), left);
    expect(payment).toMatchObject({ state: 'failed', reason: 'never_settled' });
    unpaid(await openAfter(5 * minuteMs).sellAnswer(sale.request(proofs)));
    expect(await fixture.balances('solana')).toEqual(before);
  });

  it('with a result is given up in the end although its chain is never reached again', async () => {
    const sale = createSale('chain gone');
    const proofs = await fixture.buyer.prove(challenge, 'base');
    const left = await leaveBehind(sale, proofs, { when: 'after', state: 'produced' });
    fixture.chains.base.controls.inject({ fault: 'unavailable' });
    expect((await reconcile(openAfter(dayMs - minuteMs), left)).payment.state).toBe('produced');
    expect((await reconcile(openAfter(dayMs + 60 * minuteMs), left)).payment.state).toBe('failed');
  });

  it.each(chains)(
    'that arrived is settled, with the transaction, and found by its buyer (%s)',
    async (chain) => {
      const sale = createSale(`left settled on ${chain}`);
      const before = await fixture.balances(chain);
      const proofs = await fixture.buyer.prove(challenge, chain);
      const left = await leaveBehind(sale, proofs, { when: 'before', state: 'settled' });
      expect(left.state).toBe('broadcasting');
      const gates = [openAfter(minuteMs), openAfter(minuteMs)];
      await Promise.all(gates.map((gate) => gate.reconcile({ limit: 100 })));
      const payment = await find(left.identity);
      expect(payment).toMatchObject({ state: 'settled', transaction: left.transaction, reason: null });
      expect(payment.settledAt).toBeGreaterThan(Date.now());
      expect((await fixture.balances(chain)).seller).toBe(before.seller + priceUnits);
      expect(served(await fixture.openGate().sellAnswer(sale.request(proofs)))).toMatchObject({
        replayed: true,
        transaction: left.transaction,
      });
    },
  );

  it('that never left is not sent when nobody asks for it, and is proven not charged', async () => {
    const sale = createSale('never left');
    const before = await fixture.balances('solana');
    const proofs = await fixture.buyer.prove(challenge, 'solana');
    const left = await leaveBehind(sale, proofs, { when: 'after', state: 'broadcasting' });
    expect((await reconcile(openAfter(minuteMs), left)).payment).toMatchObject({
      state: 'unknown',
      reason: 'not_settled',
      leaseOwner: null,
    });
    fixture.chains.solana.controls.expireBlockhash();
    expect((await reconcile(openAfter(5 * minuteMs), left)).payment).toMatchObject({
      state: 'failed',
      reason: 'invalid_exact_svm_blockhash_expired',
    });
    expect(await fixture.balances('solana')).toEqual(before);
  });
});

describe('a payment of unknown end', () => {
  it('is asked for ever more seldom while its chain does not answer', async () => {
    const sale = createSale('long silence');
    const proofs = await fixture.buyer.prove(challenge, 'base');
    const left = await leaveBehind(sale, proofs, { when: 'before', state: 'settled' });
    const silence = fixture.chains.base.controls.inject({ fault: 'unavailable' });
    const gaps: number[] = [];
    let time = Date.now() + minuteMs;
    // The clock stands during a look.
    const openAt = (now: number): X402Gate => openAfter(0, { clock: { now: () => now } });
    for (let look = 0; look < 12; look += 1) {
      const { payment, report } = await reconcile(openAt(time), left);
      expect([payment.state, report.resolved]).toEqual(['unknown', 0]);
      const gapMs = (payment.checkAt ?? 0) - time;
      gaps.push(gapMs);
      expect((await reconcile(openAt(time + gapMs - 1), left)).payment).toEqual(payment);
      time += gapMs;
    }
    expect(gaps.at(-1)).toBeGreaterThan(4 * (gaps[0] ?? 0));
    expect(Math.max(...gaps)).toBeLessThanOrEqual(10 * minuteMs);
    time = left.createdAt + 48 * dayMs;
    const old = (await reconcile(openAt(time), left)).payment;
    expect(old).toMatchObject({ state: 'unknown', checkAt: time + 2 * dayMs });
    time += 2 * dayMs;
    silence.remove();
    expect((await reconcile(openAt(time), left)).payment.state).toBe('settled');
  });

  it('waits for its network when that is configured no more, and is looked at when asked to', async () => {
    const sale = createSale('network gone');
    const proofs = await fixture.buyer.prove(challenge, 'solana');
    const left = await leaveBehind(sale, proofs, { when: 'before', state: 'settled' });
    const [base] = fixture.localNetworks;
    const without = openAfter(minuteMs, { networks: base === undefined ? [] : [base] });
    expect((await reconcile(without, left)).payment).toMatchObject({
      state: 'unknown',
      reason: 'network_not_configured',
    });
    expect((await openAfter(minuteMs).reconcile({ limit: 100 })).examined).toBe(0);
    const looked = await openAfter(minuteMs).reconcileOne({ identity: left.identity, transaction: null });
    expect(looked?.state).toBe('settled');
  });

  it('is left to whoever works on it', async () => {
    const sale = createSale('being worked on');
    const proofs = await fixture.buyer.prove(challenge, 'base');
    const sending = fixture.chains.base.controls.inject({
      fault: 'hold',
      methods: ['eth_sendRawTransaction'],
    });
    const paying = fixture.openGate().sellAnswer(sale.request(proofs));
    await sending.waitForHit();
    const [worked] = await fixture.store.listPayments({ limit: 1 });
    const named = { identity: worked?.identity ?? '', transaction: null };
    expect(await fixture.openGate().reconcileOne(named)).toBeNull();
    expect(await find(worked?.identity ?? '')).toMatchObject({
      state: 'broadcasting',
      leaseOwner: worked?.leaseOwner,
    });
    sending.remove();
    served(await paying);
  });
});

describe('a payment that an operator names', () => {
  it('is found by the transaction that is named, and by no other', async () => {
    const sale = createSale('named by the operator');
    const proofs = await fixture.buyer.prove(challenge, 'base');
    const left = await leaveBehind(sale, proofs, { when: 'before', state: 'settled' });
    // What the gateway had written down of it is lost, and the node has no logs of that time any more.
    await fixture.store.advancePayment({
      identity: left.identity,
      from: ['broadcasting'],
      to: 'unknown',
      set: { transaction: null, leaseOwner: null, leaseUntil: null },
      now: Date.now(),
    });
    fixture.chains.base.controls.inject({ fault: 'error', methods: ['eth_getLogs'] });
    const gate = openAfter(minuteMs);
    const { identity } = left;
    expect((await gate.reconcileOne({ identity, transaction: null }))?.state).toBe('unknown');
    const other = `0x${'7'.repeat(64)}`;
    expect((await gate.reconcileOne({ identity, transaction: other }))?.state).toBe('unknown');
    expect(await gate.reconcileOne({ identity, transaction: left.transaction })).toMatchObject({
      state: 'settled',
      transaction: left.transaction,
    });
    expect(await gate.reconcileOne({ identity: 'nothing', transaction: null })).toBeNull();
  });
});

describe('a settled payment', () => {
  const settle = async (name: string): Promise<{ sale: Sale; proofs: Proofs; payment: ListedPayment }> => {
    const sale = createSale(name);
    const proofs = await fixture.buyer.prove(challenge, 'base');
    served(await fixture.openGate().sellAnswer(sale.request(proofs)));
    const [newest] = await fixture.store.listPayments({ limit: 1 });
    if (newest === undefined) throw new Error('there is no payment');
    return { sale, proofs, payment: newest };
  };

  it('is looked at once more when no fork can take it back, and then never again', async () => {
    const { payment: settled } = await settle('final');
    expect((await reconcile(openAfter(20 * minuteMs), settled)).payment.checkAt).toBe(settled.checkAt);
    const { payment } = await reconcile(openAfter(31 * minuteMs), settled);
    expect(payment).toMatchObject({ checkAt: null, transaction: settled.transaction });
    expect(['settled', 'delivered']).toContain(payment.state);
  });

  it('is not taken for final before its time when it is looked at by name', async () => {
    const { payment: settled } = await settle('not final yet');
    const gate = openAfter(minuteMs);
    expect((await gate.reconcileOne({ identity: settled.identity, transaction: null }))?.checkAt).toBe(
      settled.checkAt,
    );
  });

  it('is looked at again later when its chain does not answer then', async () => {
    const { payment: settled } = await settle('final, in an outage');
    fixture.chains.base.controls.inject({ fault: 'unavailable' });
    const { payment } = await reconcile(openAfter(31 * minuteMs), settled);
    expect(payment.checkAt).toBeGreaterThan(Date.now() + 31 * minuteMs);
    expect(['settled', 'delivered']).toContain(payment.state);
  });

  it('that a fork took back is open again, and settles again with the same proof', async () => {
    const { base } = fixture.chains;
    const takeBack = await base.controls.startFork();
    const before = await fixture.balances('base');
    const { sale, proofs, payment: settled } = await settle('taken back');
    await takeBack();
    expect(await fixture.balances('base')).toEqual(before);
    const { payment } = await reconcile(openAfter(31 * minuteMs), settled);
    expect(payment).toMatchObject({ state: 'unknown', reason: 'gone_from_chain', settledAt: null });
    served(await openAfter(31 * minuteMs).sellAnswer(sale.request(proofs)));
    expect((await fixture.balances('base')).seller).toBe(before.seller + priceUnits);
  });
});

describe('a batch', () => {
  it('takes what has no end ahead of what is only looked at once more', async () => {
    const gate = fixture.openGate();
    await openAfter(10 * dayMs).reconcile({ limit: 1_000 });
    for (let index = 0; index < 3; index += 1) {
      const sale = createSale(`ended ${index}`);
      served(await gate.sellAnswer(sale.request(await fixture.buyer.prove(challenge, 'solana'))));
    }
    const sale = createSale('without an end');
    const left = await leaveBehind(sale, await fixture.buyer.prove(challenge, 'solana'), {
      when: 'before',
      state: 'settled',
    });
    await fixture.store.advancePayment({
      identity: left.identity,
      from: ['broadcasting'],
      to: 'broadcasting',
      set: { checkAt: Date.now() + 9 * minuteMs },
      now: Date.now(),
    });
    await openAfter(10 * minuteMs).reconcile({ limit: 1 });
    expect((await find(left.identity)).state).toBe('settled');
  });

  it('takes so many at a time, and the rest after them', async () => {
    const sales = await Promise.all(
      Array.from({ length: 4 }, async (_, index) => {
        const sale = createSale(`batch ${index}`);
        return { sale, proofs: await fixture.buyer.prove(challenge, 'solana') };
      }),
    );
    for (const { sale, proofs } of sales)
      await leaveBehind(sale, proofs, { when: 'after', state: 'reserved' });
    const gate = openAfter(minuteMs);
    const examined: number[] = [];
    for (let round = 0; round < 3; round += 1) examined.push((await gate.reconcile({ limit: 3 })).examined);
    expect(examined).toEqual([3, 1, 0]);
  });

  it('goes on when one of it cannot be looked at', async () => {
    const broken = createSale('broken');
    const whole = createSale('whole');
    for (const sale of [broken, whole])
      await leaveBehind(sale, await fixture.buyer.prove(challenge, 'base'), {
        when: 'after',
        state: 'reserved',
      });
    const [second, first] = await fixture.store.listPayments({ limit: 2 });
    const store = {
      ...fixture.store,
      advancePayment: (input: Parameters<typeof fixture.store.advancePayment>[0]) =>
        input.identity === first?.identity
          ? Promise.reject(new Error('no'))
          : fixture.store.advancePayment(input),
    };
    expect(await openAfter(minuteMs, { store }).reconcile({ limit: 9 })).toEqual({
      examined: 2,
      resolved: 1,
    });
    expect((await find(second?.identity ?? '')).state).toBe('rejected');
  });
});
