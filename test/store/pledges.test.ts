import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { newId } from '../../src/kit/ids.ts';
import type { AdvancePaymentInput, Payment, Store } from '../../src/store/store.ts';
import {
  addAccount,
  assertSoundBooks,
  finishing,
  newPayment,
  openJob,
  opening,
  runningJob,
  start,
  worker,
  type Owner,
} from './builders.ts';
import { testEngines, type TestStore } from './open-test-store.ts';

describe.each(testEngines())('a job that a pledged payment pays on $kind', ({ create }) => {
  let data: TestStore;
  let store: Store;
  beforeAll(async () => {
    data = await create();
    ({ store } = data);
  });
  afterEach(() => assertSoundBooks(store));
  afterAll(() => data.remove());

  /** A payment for an account, verified by `worker`. */
  const pledge = async ({ accountId }: Owner, credit = 100n): Promise<string> => {
    const { payment } = await store.reservePayment(newPayment({ accountId, credit }));
    await advance(payment.identity, { from: ['reserved'], to: 'verified' });
    return payment.identity;
  };
  const advance = async (
    identity: string,
    change: Pick<AdvancePaymentInput, 'from' | 'to' | 'set'>,
  ): Promise<Payment | null> => {
    const accountId = (await store.getPayment(identity))?.accountId ?? null;
    return store.advanceCredit({
      change: { identity, now: start + 2_000, ...change },
      accountId,
      entryId: newId(),
    });
  };
  /** What the job used is known, and so is what the payment takes and credits. */
  const produce = (identity: string, credit: bigint) =>
    advance(identity, { from: ['verified'], to: 'produced', set: { settledAmount: 1n, credit } });
  const settle = (identity: string) => advance(identity, { from: ['produced', 'failed'], to: 'settled' });
  const fail = (identity: string) => advance(identity, { from: ['produced'], to: 'failed' });
  const run = async (owner: Owner, payment: string, charge = 60n): Promise<string> => {
    const job = runningJob(owner);
    const id = await openJob(store, opening(job, { hold: 0n, payment: { identity: payment, most: 100n } }));
    await store.finishJob(finishing(id, { charge }));
    return id;
  };
  const accountOf = ({ accountId }: Owner) => store.getAccount(accountId);

  it('runs without any balance, and is debited when the payment is credited', async () => {
    const owner = await addAccount(store, { balance: 0n });
    const payment = await pledge(owner);
    const job = runningJob(owner);
    const id = await openJob(store, opening(job, { hold: 0n, payment: { identity: payment, most: 100n } }));
    await assertSoundBooks(store);
    expect(await accountOf(owner)).toMatchObject({ balance: 0n, held: 0n });
    expect(await store.getJob({ id, accountId: owner.accountId })).toMatchObject({
      hold: 100n,
      holdState: 'open',
    });
    expect(await store.finishJob(finishing(id))).toMatchObject({
      outcome: 'finished',
      charged: 60n,
      available: 0n,
    });
    await assertSoundBooks(store);
    await produce(payment, 61n);
    expect(await accountOf(owner)).toMatchObject({ balance: 0n, held: 0n });
    await settle(payment);
    expect(await accountOf(owner)).toMatchObject({ balance: 1n, held: 0n });
    expect(await store.owesForJobs(owner.accountId)).toBe(false);
  });

  it('leaves the balance alone that another job holds, and ends beside it', async () => {
    const owner = await addAccount(store, { balance: 100n });
    const payment = await pledge(owner);
    const other = await openJob(store, opening(runningJob(owner)));
    const id = await openJob(
      store,
      opening(runningJob(owner), { hold: 0n, payment: { identity: payment, most: 100n } }),
    );
    expect(await accountOf(owner)).toMatchObject({ balance: 100n, held: 100n });
    await Promise.all([store.finishJob(finishing(id)), store.finishJob(finishing(other, { charge: 70n }))]);
    expect(await accountOf(owner)).toMatchObject({ balance: 30n, held: 0n });
  });

  it('never costs more than was pledged, and owes nothing when it costs nothing', async () => {
    const owner = await addAccount(store, { balance: 0n });
    const id = await run(owner, await pledge(owner), 500n);
    expect(await store.getJob({ id, accountId: owner.accountId })).toMatchObject({ charged: 100n });
    const free = await pledge(owner);
    await run(owner, free, 0n);
    await advance(free, { from: ['verified'], to: 'rejected' });
    expect(await store.owesForJobs(owner.accountId)).toBe(false);
  });

  it('is owed when the payment fails, which the balance pays at a later credit', async () => {
    const owner = await addAccount(store, { balance: 0n });
    const payment = await pledge(owner);
    const income = async (): Promise<bigint> =>
      (await store.sumModels({ from: 0, to: 2 * start })).reduce((sum, { charged }) => sum + charged, 0n);
    const before = await income();
    const job = await run(owner, payment);
    await produce(payment, 60n);
    expect(await store.owesForJobs(owner.accountId)).toBe(false);
    await fail(payment);
    expect(await income()).toBe(before);
    expect(await store.owesForJobs(owner.accountId)).toBe(true);
    const { owedJobs, owed, debts } = await store.checkLedger();
    expect(await store.gaugeOwedJobs(undefined)).toEqual({ jobs: owedJobs, owed });
    expect(debts).toContain(
      `job ${job}: account ${owner.accountId} owes 0.00000006 USD for it, because its payment ${payment} was not settled`,
    );
    expect(await accountOf(owner)).toMatchObject({ balance: 0n, held: 0n });
    const refund = { entryId: newId(), jobId: job, amount: null, note: null, now: start };
    expect(await store.refundJob(refund)).toMatchObject({ outcome: 'too_much' });

    const small = await pledge(owner);
    await produce(small, 50n);
    await settle(small);
    expect(await accountOf(owner)).toMatchObject({ balance: 50n });
    expect(await store.owesForJobs(owner.accountId)).toBe(true);
    // A payment for a call is not eaten by the debt; and what does not fit does not keep a smaller debt from being paid.
    const smaller = await pledge(owner);
    await run(owner, smaller, 40n);
    await produce(smaller, 40n);
    await fail(smaller);
    const call = await pledge(owner);
    await produce(call, 100n);
    await settle(call);
    expect(await accountOf(owner)).toMatchObject({ balance: 110n });
    expect(await store.owesForJobs(owner.accountId)).toBe(true);
    const next = await pledge(owner);
    await produce(next, 10n);
    await settle(next);
    expect(await accountOf(owner)).toMatchObject({ balance: 60n });
    expect(await store.owesForJobs(owner.accountId)).toBe(false);
    expect(await income()).toBe(before + 60n + 40n);

    // Its settlement is found later after all: that is balance then.
    await settle(payment);
    expect(await accountOf(owner)).toMatchObject({ balance: 120n });
  });

  it('is owed when the process died before the payment was begun, also when that is forgotten', async () => {
    const owner = await addAccount(store, { balance: 0n });
    const payment = await pledge(owner);
    await run(owner, payment);
    expect(await store.owesForJobs(owner.accountId)).toBe(false);
    await advance(payment, { from: ['verified'], to: 'rejected' });
    expect(await store.owesForJobs(owner.accountId)).toBe(true);
    await store.prunePayments({ rejectedBefore: start + 3_000, deliveredBefore: start, limit: 100 });
    expect(await store.getPayment(payment)).toBeNull();
    expect(await store.owesForJobs(owner.accountId)).toBe(true);
    // The buyer comes back with the same proof, and the job is paid.
    const again = newPayment({ identity: payment, accountId: owner.accountId, credit: 100n });
    await store.reservePayment({ ...again, leaseOwner: worker });
    await advance(payment, { from: ['reserved'], to: 'verified' });
    await produce(payment, 60n);
    await settle(payment);
    expect(await accountOf(owner)).toMatchObject({ balance: 0n });
    expect(await store.owesForJobs(owner.accountId)).toBe(false);
  });

  it('is owed when its proof was freed and has paid for another job', async () => {
    const owner = await addAccount(store, { balance: 0n });
    const payment = await pledge(owner);
    const first = await run(owner, payment);
    expect((await store.getPayment(payment))?.jobId).toBe(first);
    await advance(payment, { from: ['verified'], to: 'rejected' });
    const again = newPayment({
      identity: payment,
      requestHash: 'request-2',
      accountId: owner.accountId,
      credit: 100n,
    });
    expect((await store.reservePayment(again)).payment.jobId).toBeNull();
    await advance(payment, { from: ['reserved'], to: 'verified' });
    const other = runningJob(owner);
    await openJob(store, opening(other, { hold: 0n, payment: { identity: payment, most: 100n } }));
    await store.finishJob(finishing(other.id, { charge: 70n, now: start + 5_000 }));
    await produce(payment, 70n);
    await settle(payment);
    expect(await accountOf(owner)).toMatchObject({ balance: 0n });
    expect(await store.owesForJobs(owner.accountId)).toBe(true);
  });
});
