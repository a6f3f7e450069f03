import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '../../src/kit/ids.ts';
import type { Store } from '../../src/store/store.ts';
import {
  addAccount,
  assertSoundBooks,
  available,
  finishing,
  newPayment,
  opening,
  openJob,
  runningJob,
  start,
  type Owner,
} from './builders.ts';
import { testEngines, type TestStore } from './open-test-store.ts';
import type { PaymentState } from '../../src/rules/payments.ts';

/** Prime to each other, so that every share of the credit is rounded. */
const amount = 30n;
const credit = 101n;

const refundArbitrary = fc.nat(3);
const stepArbitrary = fc.oneof(
  fc.constantFrom({ type: 'settle' as const }, { type: 'vanish' as const }, { type: 'disprove' as const }),
  fc.record({ type: fc.constant('spend' as const), charge: fc.bigInt(1n, 80n) }),
  fc.record({
    type: fc.constant('plan' as const),
    refund: refundArbitrary,
    amount: fc.option(fc.bigInt(1n, amount)),
    acceptsUnknown: fc.boolean(),
  }),
  fc.record({
    type: fc.constantFrom('send' as const, 'land' as const, 'fail' as const, 'cancel' as const),
    refund: refundArbitrary,
  }),
);
type Step = typeof stepArbitrary extends fc.Arbitrary<infer T> ? T : never;

interface Run {
  store: Store;
  owner: Owner;
  identity: string;
  spent: bigint;
}

const beginRun = async (store: Store): Promise<Run> => {
  const owner = await addAccount(store, { balance: 0n });
  const { accountId } = owner;
  const { payment } = await store.reservePayment(newPayment({ accountId, credit, amount }));
  const { identity } = payment;
  await store.advancePayment({
    identity,
    from: ['reserved'],
    to: 'produced',
    set: { payer: '0xpayer', result: '{}' },
    now: start,
  });
  return { store, owner, identity, spent: 0n };
};

const move = (run: Run, from: PaymentState[], to: PaymentState) =>
  run.store.advanceCredit({
    change: { identity: run.identity, from, to, now: start },
    accountId: run.owner.accountId,
    entryId: newId(),
  });

const refundId = ({ identity }: Run, number: number): string => `${identity} ${number}`;
const sent = { sender: '0xus', transaction: '0xhash', rawTransaction: '0xraw' };
const refundMoves = {
  send: { from: ['planned'], to: 'sending', set: sent },
  land: { from: ['sending'], to: 'settled' },
  fail: { from: ['sending'], to: 'failed' },
  cancel: { from: ['planned'], to: 'failed' },
} as const;

const spend = async (run: Run, charge: bigint): Promise<void> => {
  const { store, owner } = run;
  const job = runningJob(owner);
  const opened = await store.openJob(opening(job, { hold: charge }));
  if (opened.outcome !== 'opened') return;
  await store.finishJob(finishing(job.id, { charge }));
  run.spent += charge;
};

const take = async (run: Run, step: Step): Promise<unknown> => {
  switch (step.type) {
    case 'settle':
      return move(run, ['produced', 'unknown', 'failed'], 'settled');
    case 'vanish':
      return move(run, ['settled'], 'unknown');
    case 'disprove':
      return move(run, ['produced', 'unknown'], 'failed');
    case 'spend':
      return spend(run, step.charge);
    case 'plan':
      return run.store.planRefund({
        id: refundId(run, step.refund),
        payment: run.identity,
        amount: step.amount,
        acceptsUnknown: step.acceptsUnknown,
        note: null,
        now: start,
      });
    default:
      return run.store.advanceRefund({
        id: refundId(run, step.refund),
        ...refundMoves[step.type],
        now: start,
      });
  }
};

/** The credit of the payment, less what its refunds take, rounded up. */
const shareLeft = (refunded: bigint): bigint => credit - (credit * refunded + amount - 1n) / amount;

const check = async ({ store, owner, identity, spent }: Run): Promise<void> => {
  const payment = await store.getPayment(identity);
  const account = await store.getAccount(owner.accountId);
  if (payment === null || account === null) throw new Error('the run has lost its rows');
  const refunds = await store.listRefunds({ payment: identity, limit: 10 });
  const refunded = refunds.reduce((sum, one) => sum + (one.state === 'failed' ? 0n : one.amount), 0n);
  expect(refunded).toBeLessThanOrEqual(amount);
  // All that the account has, and has spent, comes from the payment.
  expect(account.balance).toBe(payment.credited - spent);
  const isMade = payment.state === 'settled' || payment.creditEntry !== null;
  if (isMade) expect(payment.credited).toBe(shareLeft(refunded));
  else expect(payment.credited).toBeLessThanOrEqual(spent);
};

describe.each(testEngines())('the credit of a payment on $kind', ({ create }) => {
  let data: TestStore;
  let store: Store;
  beforeAll(async () => {
    data = await create();
    ({ store } = data);
  });
  afterAll(async () => {
    await assertSoundBooks(store);
    await data.remove();
  });

  it('is on the account or refunded, never both, whatever happens in which order and at once', async () => {
    const batches = fc.array(fc.array(stepArbitrary, { minLength: 1, maxLength: 3 }), {
      minLength: 1,
      maxLength: 10,
    });
    await fc.assert(
      fc.asyncProperty(batches, async (batches) => {
        const run = await beginRun(store);
        await take(run, { type: 'settle' });
        for (const batch of batches) {
          await Promise.all(batch.map((step) => take(run, step)));
          await check(run);
        }
      }),
      { numRuns: 25 },
    );
  });

  it('is lost as far as it was spent when the payment is disproved, and not given twice when it settles after all', async () => {
    const run = await beginRun(store);
    const { accountId } = run.owner;
    await take(run, { type: 'settle' });
    await take(run, { type: 'spend', charge: 60n });
    await take(run, { type: 'vanish' });
    await take(run, { type: 'disprove' });
    expect(await available(store, accountId)).toBe(0n);
    await take(run, { type: 'settle' });
    expect(await available(store, accountId)).toBe(credit - 60n);
  });

  it('is refunded only as far as the account still has it, and comes back with a refund that fails', async () => {
    const run = await beginRun(store);
    const { accountId } = run.owner;
    const plan = (refund: number, units: bigint | null) =>
      take(run, { type: 'plan', refund, amount: units, acceptsUnknown: false });
    await take(run, { type: 'settle' });
    const job = await openJob(store, opening(runningJob(run.owner), { hold: 51n }));
    expect(await plan(0, null)).toEqual({ outcome: 'spent', available: 50n, needed: credit });
    expect(await plan(1, 15n)).toEqual({ outcome: 'spent', available: 50n, needed: 51n });
    await store.finishJob(finishing(job, { charge: 1n }));
    expect(await plan(2, null)).toEqual({ outcome: 'spent', available: 100n, needed: credit });
    expect(await plan(2, 29n)).toMatchObject({ outcome: 'planned' });
    expect(await available(store, accountId)).toBe(2n);
    await take(run, { type: 'cancel', refund: 2 });
    expect(await available(store, accountId)).toBe(100n);
    const entries = await store.listEntries({ accountId, limit: 9, before: null });
    expect(entries.map(({ type, amount: change }) => [type, change])).toEqual(
      expect.arrayContaining([
        ['topup', credit],
        ['adjustment', -98n],
        ['adjustment', 98n],
        ['debit', -1n],
      ]),
    );
  });
});
