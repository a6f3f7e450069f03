import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { silentLog } from '../../../src/kit/log.ts';
import { changeOf, isLeased, movePayment, newLease } from '../../../src/payments/sale/move-payment.ts';
import {
  paymentEvents,
  type EventFields,
  type PaymentEvent,
  type PaymentEventName,
} from '../../../src/payments/sale/payment-events.ts';
import type { Payment, Store } from '../../../src/store/store.ts';
import { newPayment, start } from '../../store/builders.ts';
import { testEngines, type TestStore } from '../../store/open-test-store.ts';
import { paymentStates, type PaymentState } from '../../../src/rules/payments.ts';

const names = Object.keys(paymentEvents) as PaymentEventName[];
const events: Record<PaymentEventName, PaymentEvent> = paymentEvents;
const leaseMs = 30_000;

/** The states that can follow `state`, in any number of steps. */
const reachableFrom = (state: PaymentState, without: readonly PaymentEventName[] = []): Set<PaymentState> => {
  const reached = new Set<PaymentState>([state]);
  for (const one of reached)
    for (const name of names) {
      const { from, to } = events[name];
      if (to !== null && from.includes(one) && !without.includes(name)) reached.add(to);
    }
  return reached;
};

const leadingTo = (state: PaymentState): PaymentState[] =>
  names.flatMap((name) => (events[name].to === state ? events[name].from : []));

describe('the events of a payment', () => {
  it('lead to every state from the first one', () => {
    expect([...reachableFrom('reserved')].sort()).toEqual([...paymentStates].sort());
  });

  it('deliver only what is settled, and settle only what has an answer', () => {
    expect(leadingTo('delivered')).toEqual(['settled']);
    expect(leadingTo('produced')).toEqual(['verified']);
    expect(reachableFrom('reserved', ['produced'])).toEqual(new Set(['reserved', 'verified', 'rejected']));
  });

  it('never free a proof, or make its answer again, once there is an answer', () => {
    for (const state of reachableFrom('produced'))
      expect(['reserved', 'verified', 'rejected'].includes(state)).toBe(false);
  });

  it('let only the process with the lease send', () => {
    expect(names.filter((name) => events[name].sets.includes('rawTransaction'))).toEqual(['sent']);
    expect(events.sent).toMatchObject({ by: 'holder', next: 'work' });
  });
});

/** What a process does next: it reads the payment again, or acts on what it read before. */
const stepArbitrary = fc.record({
  process: fc.nat(1),
  reads: fc.boolean(),
  /** Mostly an event that is possible as the process knows the payment, so that most sequences go far. */
  isWild: fc.nat(9).map((roll) => roll === 0),
  choice: fc.nat(1_000),
  passMs: fc.constantFrom(0, 0, 1_000, leaseMs + 1),
  isCovered: fc.boolean(),
});

/** Whether a process that knows the payment like this may try that event at all. */
const isPossible = (name: PaymentEventName, { state, leaseOwner }: Payment): boolean => {
  const { from, to, by } = events[name];
  if (by === 'anybody') return true;
  if (by === 'holder' && leaseOwner === null) return false;
  return from.includes(state) || (by === 'holder' && to !== null);
};

const fields: EventFields<PaymentEventName> & Record<string, unknown> = {
  payer: '0xpayer',
  source: '0xsource',
  accountId: null,
  client: null,
  result: '{"results":[]}',
  transaction: '0xtransaction',
  rawTransaction: '0xraw',
  facilitator: null,
  receipt: '{}',
  settledAmount: 7n,
  credit: null,
  settledAt: start,
  reason: 'a_reason',
  reverts: 0,
};

describe.each(testEngines())('random events on $kind', ({ create }) => {
  let data: TestStore;
  let store: Store;
  beforeAll(async () => {
    data = await create();
    ({ store } = data);
  });
  afterAll(() => data.remove());

  const find = async (identity: string): Promise<Payment> => {
    const payment = await store.getPayment(identity);
    if (payment === null) throw new Error('the payment is gone');
    return payment;
  };

  it('never leave the edges of the table, and only a living lease sends', async () => {
    const reached = new Set<PaymentState>(['reserved']);
    await fc.assert(
      fc.asyncProperty(fc.array(stepArbitrary, { minLength: 10, maxLength: 40 }), async (steps) => {
        let now = start;
        const clock = { now: () => now };
        const contexts = ['one', 'other'].map((owner) => ({ store, clock, log: silentLog, owner, leaseMs }));
        const reservation = newPayment();
        const { payment: first } = await store.reservePayment(reservation);
        const { identity } = first;
        const read = [first, first];
        let wasSent = false;
        for (const { process, reads, isWild, choice, passMs, isCovered } of steps) {
          now += passMs;
          const context = contexts[process] ?? contexts[0]!;
          if (reads) read[process] = await find(identity);
          const known = read[process] ?? first;
          const before = await find(identity);
          if (before.state === 'rejected' || (isWild && choice % 4 === 0)) {
            const again = { ...reservation, ...newLease(context), now };
            const { outcome, payment } = await store.reservePayment(again);
            expect(outcome === 'reserved').toBe(before.state === 'rejected');
            if (outcome === 'reserved') read[process] = payment;
            continue;
          }
          const candidates = isWild ? names : names.filter((name) => isPossible(name, known));
          const event = candidates[choice % candidates.length];
          if (event === undefined) continue;
          const { from, to, by, sets, writes } = events[event];
          // As the gateway does: a process leaves a payment alone that another one works on.
          if (by === 'finder' && isLeased(context, known)) continue;
          const given = Object.fromEntries(
            sets.map((field) => [field, field === 'source' ? identity : fields[field]]),
          );
          const act = async (): Promise<Payment | null> => {
            if (event !== 'verified') return movePayment(context, known, event, given as never);
            const change = changeOf(context, known, [event, given as never]);
            const funds = isCovered ? known.amount : 0n;
            const verified = await store.verifyPayment({
              change,
              source: identity,
              funds,
              maxOpen: 20,
              reverts: { limit: 3, since: 0 },
            });
            return verified?.outcome === 'verified' ? verified.payment : null;
          };
          if (!isPossible(event, known)) {
            await expect(act()).rejects.toThrow(`payment ${identity} is `);
            continue;
          }
          const moved = await act();
          const after = await find(identity);
          if (moved === null) {
            expect(after).toEqual(before);
            continue;
          }
          read[process] = moved;
          reached.add(after.state);
          expect(after).toEqual(moved);
          expect(from).toContain(before.state);
          expect(after.state).toBe(to ?? before.state);
          expect(after).toMatchObject({ ...given, ...writes });
          // A process that lost its lease changes nothing that only its holder may change.
          if (by === 'holder') expect(before.leaseOwner).toBe(known.leaseOwner);
          if (by === 'finder') expect(before.state).toBe(known.state);
          if (event === 'sent') wasSent = true;
          // Never served unpaid, and never freed for another payment once it may have charged.
          if (after.state === 'delivered') expect(after.receipt).not.toBeNull();
          if (wasSent) expect(['reserved', 'verified', 'produced', 'rejected']).not.toContain(after.state);
        }
      }),
      { numRuns: 50, seed: 402 },
    );
    expect(reached).toEqual(new Set(paymentStates));
  });

  it('let one of two buyers who come back at once continue', async () => {
    for (const event of ['continued', 'resumed'] as const) {
      let now = start;
      const clock = { now: () => now };
      const contexts = ['one', 'other'].map((owner) => ({ store, clock, log: silentLog, owner, leaseMs }));
      const [one, other] = [contexts[0]!, contexts[1]!];
      const { payment } = await store.reservePayment({ ...newPayment(), ...newLease(one) });
      await movePayment(one, payment, 'verified', {
        payer: '0xpayer',
        source: '0xsource',
        accountId: null,
        client: null,
      });
      const produced = await movePayment(one, payment, 'produced', {
        result: '{}',
        settledAmount: undefined,
        credit: undefined,
      });
      if (event === 'continued') await movePayment(one, produced ?? payment, 'paused', {});
      else {
        await movePayment(one, payment, 'sent', fields as never);
        await movePayment(one, payment, 'doubted', {
          reason: 'a_reason',
          transaction: undefined,
          reverts: undefined,
        });
      }
      now += 1;
      const found = await find(payment.identity);
      const taken = await Promise.all([
        movePayment(one, found, event, {}),
        movePayment(other, found, event, {}),
      ]);
      expect(taken.filter((one) => one !== null)).toHaveLength(1);
      expect(await movePayment(one, payment, 'sent', fields as never)).toBeNull();
    }
  });
});
