import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '../../src/kit/ids.ts';
import type { Payment, Store } from '../../src/store/store.ts';
import {
  addAccount,
  assertSoundBooks,
  finishing,
  idempotencyKey,
  newPayment,
  opening,
  runningJob,
  start,
  type Owner,
} from './builders.ts';
import { testEngines, type TestStore } from './open-test-store.ts';
import type { PaymentState } from '../../src/rules/payments.ts';

const credit = 100n;
const hold = 50n;
const charge = 40n;

/** A call with one of four proofs, the first two of which are settled before their job, the others after it. */
const callArbitrary = fc.record({
  payment: fc.nat(3),
  key: fc.constantFrom(null, 'one', 'two'),
  /** The end of a payment that is settled after its job. */
  end: fc.constantFrom<PaymentState[]>('settled', 'failed', 'rejected'),
  handle: fc.nat(1),
});
type Call = typeof callArbitrary extends fc.Arbitrary<infer T> ? T : never;

interface Run {
  owner: Owner;
  payments: string[];
  opened: { job: string; payment: string; key: string | null }[];
}

const move = (
  store: Store,
  { identity, accountId }: Pick<Payment, 'identity' | 'accountId'>,
  ...[from, to, set = {}]: [from: PaymentState, to: PaymentState, set?: object]
) =>
  store.advanceCredit({
    change: { identity, from: [from], to, set, now: start },
    accountId,
    entryId: newId(),
  });

/** Opens the job of a call and ends it. Returns what the call's own payment must still pay. */
const runJob = async (
  store: Store,
  run: Run,
  { payment, key, isPledged }: { payment: Payment; key: string | null; isPledged: boolean },
): Promise<bigint> => {
  const { identity } = payment;
  const job = runningJob(run.owner);
  const { accountId, keyId } = run.owner;
  const idempotency = key === null ? null : idempotencyKey(key);
  const paying = { identity, most: isPledged ? credit : null };
  const earlier = await store.findReplay({ accountId, idempotency, payment: identity, now: start });
  const opened =
    earlier?.outcome === 'owed'
      ? await store.payOwedJob({ job: earlier.job, keyId, payment: paying, now: start })
      : await store.openJob(opening(job, { hold: isPledged ? 0n : hold, payment: paying, idempotency }));
  if (opened.outcome === 'replayed') return opened.job.unpaidBy === identity ? opened.job.charged : 0n;
  if (opened.outcome !== 'opened') return 0n;
  run.opened.push({ job: job.id, payment: identity, key });
  await store.finishJob(finishing(job.id, { charge }));
  return isPledged ? charge : 0n;
};

/** Does what the gateway does for a call that comes with a proof. */
const call = async (store: Store, run: Run, { payment: index, key, end }: Call): Promise<void> => {
  const identity = run.payments[index]!;
  const { accountId } = run.owner;
  const { outcome, payment } = await store.reservePayment(newPayment({ identity, accountId, credit }));
  if (outcome !== 'reserved') {
    const isSettled = payment.state === 'settled';
    if (isSettled) await runJob(store, run, { payment, key, isPledged: false });
    return;
  }
  await move(store, payment, 'reserved', 'verified');
  if (index < 2) {
    await move(store, payment, 'verified', 'settled');
    await runJob(store, run, { payment, key, isPledged: false });
    return;
  }
  const due = await runJob(store, run, { payment, key, isPledged: true });
  if (due === 0n || end === 'rejected') return void (await move(store, payment, 'verified', 'rejected'));
  await move(store, payment, 'verified', 'produced', { settledAmount: 1n, credit: due });
  await move(store, payment, 'produced', end);
};

describe.each(testEngines())('the jobs of payments on $kind', ({ create }) => {
  let data: TestStore;
  let handles: Store[];
  beforeAll(async () => {
    data = await create();
    handles = [data.store, await data.openAnother()];
  });
  afterAll(async () => {
    await assertSoundBooks(data.store);
    await data.remove();
  });

  const check = async ({ owner: { accountId }, payments, opened }: Run): Promise<void> => {
    const { store } = data;
    const once = (names: (string | null)[]): void => {
      const known = names.filter((name) => name !== null);
      expect(new Set(known).size).toBe(known.length);
    };
    once(opened.map(({ key }) => key));
    const made = await Promise.all(payments.map((identity) => store.getPayment(identity)));
    once(made.map((payment) => payment?.jobId ?? null));
    // A job that was owed may be another payment's by now.
    const payers = new Map(made.map((payment) => [payment?.jobId, payment?.identity]));
    once(opened.flatMap(({ job, payment }) => ((payers.get(job) ?? payment) === payment ? [payment] : [])));
    const jobs = await Promise.all(opened.map(({ job: id }) => store.getJob({ id, accountId })));
    const states = new Map(made.map((payment) => [payment?.identity, payment?.state]));
    let balance = made.reduce((sum, payment) => sum + (payment?.credited ?? 0n), 0n);
    for (const job of jobs) {
      const { charged, unpaidBy } = job!;
      if (unpaidBy === null) balance -= charged;
      // A job is never owed by a payment whose money came.
      else expect(states.get(unpaidBy)).toMatch(/failed|rejected/);
    }
    expect((await store.getAccount(accountId))?.balance).toBe(balance);
  };

  it('are one for each payment and each key, and all paid or owed, whatever comes in which order and at once', async () => {
    const batches = fc.array(fc.array(callArbitrary, { minLength: 1, maxLength: 5 }), {
      minLength: 1,
      maxLength: 5,
    });
    await fc.assert(
      fc.asyncProperty(batches, async (batches) => {
        const owner = await addAccount(data.store, { balance: 0n });
        const run: Run = { owner, payments: Array.from({ length: 4 }, newId), opened: [] };
        for (const batch of batches) {
          await Promise.all(batch.map((one) => call(handles[one.handle]!, run, one)));
          await check(run);
        }
      }),
      { numRuns: 25 },
    );
  });

  it('are two where two payments of one owner come under no key', async () => {
    const owner = await addAccount(data.store, { balance: 0n });
    const run: Run = { owner, payments: Array.from({ length: 4 }, newId), opened: [] };
    const one = { key: null, end: 'settled' as const, handle: 0 };
    await Promise.all([0, 2].map((payment) => call(data.store, run, { ...one, payment })));
    expect(run.opened).toHaveLength(2);
    await check(run);
  });
});
