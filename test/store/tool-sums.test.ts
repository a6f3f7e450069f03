import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Store } from '../../src/store/store.ts';
import { addAccount, finishing, newPayment, opening, openJob, runningJob, start } from './builders.ts';
import { bought } from './bought-payment.ts';
import { testEngines, type TestStore } from './open-test-store.ts';

describe.each(testEngines())('calls of mounted tools on $kind', ({ create }) => {
  let test: TestStore;
  let store: Store;
  beforeAll(async () => {
    test = await create();
    store = test.store;
  });
  afterAll(() => test.remove());

  it('are summed up by tool, with failures, nearest ranks of their durations, income, and what was paid for them', async () => {
    const owner = await addAccount(store);
    const call = async (model: string, tookMs: number, metadata: object, charge: bigint, at = start) => {
      const job = runningJob(owner, { kind: 'tool', model });
      await openJob(store, opening(job, { now: at, hold: 100n }));
      const ended = { charge, now: at + tookMs, metadata: JSON.stringify(metadata) };
      await store.finishJob(finishing(job.id, ended));
      return job.id;
    };
    const buy = (jobId: string, request: string, price: bigint) =>
      store.recordBoughtPayment(
        bought(`${jobId} ${request}`, { jobId, request: `${jobId} ${request}`, price }),
      );
    const sold = await call('files__a', 10, {}, 5n);
    await call('files__a', 30, { bill: { units: { rows: 1 } } }, 5n);
    const lost = await call('files__a', 20, { isError: true }, 0n);
    for (const [id, price] of [
      [sold, 3n],
      [lost, 2n],
    ] as const)
      await buy(id, 'taken', price);
    await buy(lost, 'not taken', 7n);
    await store.moveBoughtPayment({
      identity: `${lost} not taken`,
      from: ['sent'],
      to: 'unused',
      transaction: null,
      reason: null,
      checkAt: null,
      now: start,
    });
    await call('files__b', 7, {}, 1n);
    const { payment } = await store.reservePayment(newPayment({ accountId: owner.accountId, credit: 100n }));
    const unpaid = runningJob(owner, { kind: 'tool', model: 'files__c' });
    await openJob(
      store,
      opening(unpaid, { now: start, hold: 0n, payment: { identity: payment.identity, most: 100n } }),
    );
    await store.finishJob(finishing(unpaid.id, { charge: 9n, now: start + 8, result: '{}' }));
    await buy(unpaid.id, 'taken', 4n);
    await call('files__b', 9, {}, 1n, start + 1_000);
    expect(await store.sumToolCalls({ from: start, to: start + 1_000 })).toEqual([
      { model: 'files__a', calls: 3, errors: 1, p50Ms: 20, p95Ms: 30, income: 10n, cost: 5n, loss: 2n },
      { model: 'files__b', calls: 1, errors: 0, p50Ms: 7, p95Ms: 7, income: 1n, cost: 0n, loss: 0n },
      { model: 'files__c', calls: 1, errors: 0, p50Ms: 8, p95Ms: 8, income: 0n, cost: 4n, loss: 4n },
    ]);
  });
});
