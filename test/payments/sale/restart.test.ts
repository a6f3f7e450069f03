import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { canonicalJson } from '../../../src/kit/json.ts';
import type { Challenge, Proofs, X402Gate } from '../../../src/payments/sale/gate.ts';
import type { Store } from '../../../src/store/store.ts';
import { dieAt } from '../support/dying-store.ts';
import {
  codeOf,
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

let fixture: GateFixture;
let challenge: Challenge;
beforeAll(async () => {
  fixture = await startGateFixture();
  challenge = fixture.openGate().challenge({ price, ...overRest });
});
afterAll(() => fixture?.close());

const chains = ['base', 'solana'] as const;
const leaseMs = 30_000;

/** Begins a purchase in a process that dies there. */
const dieDuring = async (
  sale: Sale,
  proofs: Proofs,
  { when, state }: { when: 'before' | 'after'; state: PaymentState },
): Promise<void> => {
  const { store, dead } = dieAt(fixture.store, when, state);
  void fixture.openGate({ store, leaseMs }).sellAnswer(sale.request(proofs));
  await dead;
};

/** A gate of a process that looks when the dead one's lease has run out. */
const openLater = (): X402Gate => fixture.openGate({ clock: { now: () => Date.now() + leaseMs + 1_000 } });

describe.each(chains)('a process that dies while a payment on %s is served', (chain) => {
  it.each([
    { when: 'after', state: 'reserved', runs: 1 },
    { when: 'after', state: 'verified', runs: 1 },
    { when: 'before', state: 'produced', runs: 2 },
    { when: 'after', state: 'produced', runs: 1 },
    { when: 'after', state: 'broadcasting', runs: 1 },
    { when: 'before', state: 'settled', runs: 1 },
    { when: 'after', state: 'settled', runs: 1 },
  ] as const)('$when it is $state leaves a proof that works, once', async ({ when, state, runs }) => {
    const sale = createSale(`dies ${when} ${state} on ${chain}`);
    const before = await fixture.balances(chain);
    const proofs = await fixture.buyer.prove(challenge, chain);
    await dieDuring(sale, proofs, { when, state });

    const isSettled = when === 'after' && state === 'settled';
    if (!isSettled)
      expect(await codeOf(fixture.openGate().sellAnswer(sale.request(proofs)))).toBe('payment_in_progress');
    const other = createSale('another request').request(proofs);
    expect(await codeOf(openLater().sellAnswer(other))).toBe('payment_conflict');

    const gates = [openLater(), openLater()];
    const outcomes = await Promise.allSettled(
      Array.from({ length: 6 }, (_, index) => gates[index % 2]!.sellAnswer(sale.request(proofs))),
    );
    const answers = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
    expect(answers.length).toBeGreaterThan(0);
    const transactions = new Set(answers.map((answer) => served(answer).transaction));
    expect(transactions.size).toBe(1);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected')
        expect(outcome.reason).toMatchObject({ code: 'payment_in_progress' });
    expect(sale.produced).toBe(runs);
    expect((await fixture.balances(chain)).seller).toBe(before.seller + priceUnits);
    const again = served(await openLater().sellAnswer(sale.request(proofs)));
    expect(again).toMatchObject({ replayed: true, transaction: [...transactions][0] });
  });
});

describe('a process that lives longer than its lease', () => {
  it('does not settle what another has taken over', async () => {
    const sale = createSale('slow');
    const before = await fixture.balances('base');
    const proofs = await fixture.buyer.prove(challenge, 'base');
    const slowTask = Promise.withResolvers<string>();
    const started = Promise.withResolvers<void>();
    const slow = fixture.openGate({ leaseMs }).sellAnswer(
      sale.request(proofs, {
        produce: () => {
          started.resolve();
          return slowTask.promise;
        },
      }),
    );
    await started.promise;
    served(await openLater().sellAnswer(sale.request(proofs)));
    slowTask.resolve('{"results":["slow"],"count":1}');
    expect(await codeOf(slow)).toBe('payment_in_progress');
    expect((await fixture.balances('base')).seller).toBe(before.seller + priceUnits);
  });
});

describe('a process that loses its lease on the way to the chain', () => {
  it('sends nothing, and leaves the other’s transaction on record', async () => {
    const sale = createSale('dispossessed');
    const before = await fixture.balances('base');
    const proofs = await fixture.buyer.prove(challenge, 'base');
    const { controls } = fixture.chains.base;
    const sendsBefore = controls.callCount('eth_sendRawTransaction');
    const reached = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    const slowStore: Store = {
      ...fixture.store,
      advancePayment: async (input) => {
        if (input.to === 'broadcasting') {
          reached.resolve();
          await held.promise;
        }
        return fixture.store.advancePayment(input);
      },
    };
    const slow = fixture.openGate({ store: slowStore, leaseMs }).sellAnswer(sale.request(proofs));
    await reached.promise;
    const sending = controls.inject({ fault: 'hold', methods: ['eth_sendRawTransaction'] });
    const other = openLater().sellAnswer(sale.request(proofs));
    await sending.waitForHit();
    held.resolve();
    expect(await codeOf(slow)).toBe('payment_in_progress');
    sending.remove();
    const { transaction } = served(await other);
    expect(controls.callCount('eth_sendRawTransaction')).toBe(sendsBefore + 1);
    expect(served(await fixture.openGate().sellAnswer(sale.request(proofs))).transaction).toBe(transaction);
    expect((await fixture.balances('base')).seller).toBe(before.seller + priceUnits);
  });
});

describe('a settlement', () => {
  it.each(chains)('is never sent before its transaction is stored (%s)', async (chain) => {
    const seen: string[] = [];
    const sendMethod = chain === 'base' ? 'eth_sendRawTransaction' : 'sendTransaction';
    const sendsBefore = fixture.chains[chain].controls.callCount(sendMethod);
    const note = (state: PaymentState): void => {
      seen.push(`${state} ${fixture.chains[chain].controls.callCount(sendMethod) - sendsBefore}`);
    };
    const store: Store = {
      ...fixture.store,
      verifyPayment: async (input) => {
        const verified = await fixture.store.verifyPayment(input);
        note(input.change.to);
        return verified;
      },
      advancePayment: async (input) => {
        const moved = await fixture.store.advancePayment(input);
        note(input.to);
        if (input.to === 'broadcasting') {
          expect(moved?.transaction).not.toBeNull();
          expect(moved?.rawTransaction).not.toBeNull();
          expect(canonicalJson(JSON.parse(moved?.result ?? ''))).toContain('stored first');
        }
        return moved;
      },
    };
    const gate = fixture.openGate({ store });
    const sale = createSale('stored first');
    served(await gate.sellAnswer(sale.request(await fixture.buyer.prove(challenge, chain))));
    await gate.close();
    expect(seen).toEqual(['verified 0', 'produced 0', 'broadcasting 0', 'settled 1', 'delivered 1']);
  });

  it.each(chains)('does not leave when it cannot be stored (%s)', async (chain) => {
    const before = await fixture.balances(chain);
    const failing: Store = {
      ...fixture.store,
      advancePayment: (input) =>
        input.to === 'broadcasting'
          ? Promise.reject(new Error('disk full'))
          : fixture.store.advancePayment(input),
    };
    const sale = createSale(`disk full ${chain}`);
    const proofs = await fixture.buyer.prove(challenge, chain);
    await expect(fixture.openGate({ store: failing }).sellAnswer(sale.request(proofs))).rejects.toThrow(
      'disk full',
    );
    expect(await fixture.balances(chain)).toEqual(before);
    served(await openLater().sellAnswer(sale.request(proofs)));
    expect((await fixture.balances(chain)).seller).toBe(before.seller + priceUnits);
  });

  it('that happened is answered even if it cannot be written down, and is found later', async () => {
    const failing: Store = {
      ...fixture.store,
      advancePayment: (input) =>
        input.to === 'settled' ? Promise.reject(new Error('disk full')) : fixture.store.advancePayment(input),
    };
    const sale = createSale('unwritten');
    const proofs = await fixture.buyer.prove(challenge, 'base');
    const answer = served(await fixture.openGate({ store: failing }).sellAnswer(sale.request(proofs)));
    expect(await openLater().reconcile({ limit: 100 })).toEqual({ examined: 1, resolved: 1 });
    const again = served(await fixture.openGate().sellAnswer(sale.request(proofs)));
    expect(again).toEqual({ ...answer, replayed: true, settledAt: again.settledAt });
  });
});

it.each([
  ['may have been sent is pending', 'before', 'settled', 'payment_pending'],
  ['was not sent waits for its network', 'after', 'produced', 'payment_unavailable'],
] as const)(
  'a payment that %s when its network is not configured any more',
  async (_what, when, state, code) => {
    const sale = createSale(`network gone ${state}`);
    const proofs = await fixture.buyer.prove(challenge, 'base');
    await dieDuring(sale, proofs, { when, state });
    const networks = fixture.localNetworks.filter(({ network }) => network !== fixture.chains.base.network);
    const gate = fixture.openGate({ networks, clock: { now: () => Date.now() + leaseMs + 1_000 } });
    expect(await codeOf(gate.sellAnswer(sale.request(proofs)))).toBe(code);
    expect(served(await openLater().sellAnswer(sale.request(proofs))).replayed).toBe(true);
  },
);

describe('reconciling', () => {
  it.each(chains)('finds what a dead process settled (%s)', async (chain) => {
    const sale = createSale(`reconciled ${chain}`);
    const proofs = await fixture.buyer.prove(challenge, chain);
    await dieDuring(sale, proofs, { when: 'before', state: 'settled' });
    expect(await fixture.openGate().reconcile({ limit: 100 })).toEqual({ examined: 0, resolved: 0 });
    expect(await openLater().reconcile({ limit: 100 })).toEqual({ examined: 1, resolved: 1 });
    expect(await openLater().reconcile({ limit: 100 })).toEqual({ examined: 0, resolved: 0 });
    expect(served(await fixture.openGate().sellAnswer(sale.request(proofs))).replayed).toBe(true);
    expect(sale.produced).toBe(1);
  });

  it('leaves open what was not sent, until its authorization has run out for certain', async () => {
    const sale = createSale('never sent');
    const before = await fixture.balances('base');
    const proofs = await fixture.buyer.prove(challenge, 'base');
    await dieDuring(sale, proofs, { when: 'after', state: 'broadcasting' });
    expect(await openLater().reconcile({ limit: 100 })).toEqual({ examined: 1, resolved: 0 });
    // The chain's clock runs past validBefore and the margin; what is signed from now on is of another time.
    await fixture.chains.base.controls.advanceSeconds(400);
    expect(await openLater().reconcile({ limit: 100 })).toEqual({ examined: 0, resolved: 0 });
    const later = fixture.openGate({ clock: { now: () => Date.now() + 10 * leaseMs } });
    expect((await later.reconcile({ limit: 100 })).resolved).toBeGreaterThan(0);
    const refused = unpaid(await fixture.openGate().sellAnswer(sale.request(proofs)));
    expect(refused.challenge.body.error).toBe('invalid_exact_evm_payload_authorization_valid_before');
    expect(await fixture.balances('base')).toEqual(before);
  });
});
