import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newId } from '../../src/kit/ids.ts';
import type { NewBoughtPayment, OpenJobInput, Store } from '../../src/store/store.ts';
import { bought as payment } from './bought-payment.ts';
import {
  addAccount,
  addPayment,
  finishing,
  newPayment,
  opening,
  openJob,
  runningJob,
  start,
} from './builders.ts';
import { testEngines, type TestStore } from './open-test-store.ts';

/** The same request, for another job. */
const repeated = { request: 'request', operation: 'search', jobId: 'second', soldPayment: null };

describe.each(testEngines())('payments to upstreams on $kind', ({ create }) => {
  let testStore: TestStore;
  let stores: Store[];
  beforeEach(async () => {
    testStore = await create();
    stores = [testStore.store, await testStore.openAnother()];
  });
  afterEach(() => testStore.remove());

  const recordAll = (payments: readonly NewBoughtPayment[]): Promise<string[]> =>
    Promise.all(payments.map((one, index) => stores[index % 2]!.recordBoughtPayment(one)));
  const spentOn = async (time: number): Promise<bigint | undefined> =>
    (await testStore.store.listBoughtSpending(time))[0]?.spent;

  it('never exceed the budget of a day, whichever process writes them', async () => {
    const names = Array.from({ length: 10 }, (_, index) => `payment ${index}`);
    const outcomes = await recordAll(names.map((name) => payment(name, { request: name })));
    expect(outcomes.filter((outcome) => outcome === 'recorded')).toHaveLength(2);
    expect(outcomes.filter((outcome) => outcome === 'over_budget')).toHaveLength(8);
    expect(await spentOn(start)).toBe(80n);
    const nextDay = { now: start + 86_400_000, request: 'tomorrow' };
    expect(await testStore.store.recordBoughtPayment(payment('tomorrow', nextDay))).toBe('recorded');
    expect(await testStore.store.recordBoughtPayment(payment('dear', { price: 101n }))).toBe('over_budget');
  });

  it('exist once for a request of a job, until it is proven unused', async () => {
    const ofJob = (identity: string) => payment(identity, { jobId: 'job', maxPerDay: 1_000n });
    const outcomes = await recordAll(Array.from({ length: 6 }, (_, index) => ofJob(`payment ${index}`)));
    expect(outcomes.filter((outcome) => outcome === 'recorded')).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === 'exists')).toHaveLength(5);
    expect(await spentOn(start)).toBe(40n);
    const { store } = testStore;
    const found = await store.resumeBoughtPayment({
      ...repeated,
      operation: 'image',
      jobId: 'job',
      now: start,
      leaseUntil: start + 60_000,
      createdAfter: start,
    });
    const move = {
      identity: found?.identity ?? '',
      from: ['sent'] as const,
      to: 'unused' as const,
      transaction: null,
      reason: 'expired',
      checkAt: null,
      now: start,
    };
    const moved = await Promise.all(stores.map((each) => each.moveBoughtPayment(move)));
    expect(moved.filter((each) => each !== null)).toHaveLength(1);
    expect(await spentOn(start)).toBe(0n);
    expect(await store.recordBoughtPayment(ofJob('another'))).toBe('recorded');
  });

  it.each([
    ['by a proof', { operation: 'search_leads', soldPayment: 'first' }],
    ['from a balance', { operation: 'search', jobId: 'first' }],
  ])('of a search %s are taken up by one process, after the one that sent them has left', async (_, of) => {
    const { store } = testStore;
    await store.recordBoughtPayment(payment('search', of));
    const resumeAll = (now: number) =>
      Promise.all(
        stores.map((each) =>
          each.resumeBoughtPayment({
            ...repeated,
            now,
            leaseUntil: now + 60_000,
            createdAfter: start - 1,
          }),
        ),
      );
    expect(await resumeAll(start + 59_999)).toEqual([null, null]);
    const taken = await resumeAll(start + 60_000);
    expect(taken.filter((each) => each !== null)).toMatchObject([{ identity: 'search' }]);
    // It counts for the search that gets its answer.
    const { operation, jobId, soldPayment } = repeated;
    expect(await store.getBoughtPayment('search')).toMatchObject({ operation, jobId, soldPayment });
  });

  it('of searches from a balance may be several for one request, and none is taken up when it is old', async () => {
    const { store } = testStore;
    const of = { operation: 'search', maxPerDay: 1_000n };
    const outcomes = await recordAll(['one', 'two'].map((jobId) => payment(jobId, { ...of, jobId })));
    expect(outcomes).toEqual(['recorded', 'recorded']);
    // Its upstream may still answer it, but the answer would be stale.
    const late = { ...repeated, now: start + 60_000, leaseUntil: start + 120_000, createdAfter: start };
    expect(await store.resumeBoughtPayment(late)).toBeNull();
  });

  it('are summed up beside what jobs were debited and buyers have paid, less settled refunds', async () => {
    const { store } = testStore;
    const owner = await addAccount(store);
    const buy = (identity: string, of: Partial<NewBoughtPayment>) =>
      store.recordBoughtPayment(payment(identity, { request: identity, price: 3n, ...of }));
    const draw = async (of: Partial<OpenJobInput>, charge: bigint) => {
      const job = runningJob(owner);
      await openJob(store, opening(job, of));
      await store.finishJob(finishing(job.id, { charge }));
      await buy(job.id, { jobId: job.id });
    };
    const { payment: pledged } = await store.reservePayment(
      newPayment({ accountId: owner.accountId, credit: 100n }),
    );
    await draw({ hold: 100n }, 5n);
    await draw({ hold: 0n, payment: { identity: pledged.identity, most: 100n } }, 9n);
    const sell = async (refunded: bigint | null, refundIs: 'planned' | 'settled') => {
      const set = { payer: '0xpayer', settledAt: start };
      const { identity } = await addPayment(store, 'delivered', { amount: 100n, set });
      await buy(`for ${identity}`, { operation: 'search_leads', soldPayment: identity });
      const sent = { sender: '0xus', transaction: '0xhash', rawTransaction: '0xraw' };
      const refund = { id: newId(), note: null, acceptsUnknown: false, now: start };
      await store.planRefund({ ...refund, payment: identity, amount: refunded });
      if (refundIs === 'planned') return;
      await store.advanceRefund({ ...refund, from: ['planned'], to: 'sending', set: sent });
      await store.advanceRefund({ ...refund, from: ['sending'], to: 'settled' });
    };
    await sell(null, 'planned');
    await sell(30n, 'settled');
    await sell(null, 'settled');
    const sums = await store.sumBoughtPayments({ from: start, to: start + 1 });
    const sold = { operation: 'search_leads', payments: 1, bought: 3n, charged: 0n, sales: 1 };
    expect(sums).toMatchObject([
      { operation: 'image', payments: 2, bought: 6n, charged: 5n, sales: 0, soldAmount: null },
      { ...sold, soldAmount: 0n },
      { ...sold, soldAmount: 70n },
      { ...sold, soldAmount: 100n },
    ]);
  });
});
