import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { testEngines, type TestStore } from './open-test-store.ts';
import {
  addAccount,
  assertSoundBooks,
  available,
  finishing,
  idempotencyKey,
  opening,
  reapAndFail,
  runningJob,
  start,
} from './builders.ts';

describe.each(testEngines())('searches that the balance pays, on $kind', ({ create }) => {
  let testStore: TestStore;

  beforeEach(async () => {
    testStore = await create();
  });

  afterEach(async () => {
    await testStore.remove();
  });

  const search = { kind: 'search', model: 'search_leads' } as const;

  it('are not charged, and may be made anew, when their process died before the charge', async () => {
    const { store } = testStore;
    const owner = await addAccount(store);
    const idempotency = idempotencyKey('one', { endpoint: 'search_leads' });
    const lost = runningJob(owner, search);
    await store.openJob(opening(lost, { idempotency }));
    expect(await available(store, owner.accountId)).toBe(900n);
    await reapAndFail(store, start + 60_001);
    expect(await available(store, owner.accountId)).toBe(1_000n);
    // What the dead process would still write changes nothing.
    expect(await store.finishJob(finishing(lost.id, { charge: 100n }))).toMatchObject({ outcome: 'lost' });
    const again = runningJob(owner, search);
    expect(await store.openJob(opening(again, { idempotency }))).toMatchObject({ outcome: 'opened' });
    await store.finishJob(finishing(again.id, { charge: 100n }));
    expect(await available(store, owner.accountId)).toBe(900n);
    expect(await store.listEntries({ accountId: owner.accountId, before: null, limit: 9 })).toMatchObject([
      { type: 'debit', amount: -100n, model: 'search_leads' },
      { type: 'topup' },
    ]);
    await assertSoundBooks(store);
  });

  it('lose their profiles some time after their end, as tools lose their results, and other jobs keep theirs', async () => {
    const { store } = testStore;
    const owner = await addAccount(store);
    const jobs = [search, { kind: 'tool' } as const, {}].map((kind) => runningJob(owner, kind));
    for (const [index, job] of jobs.entries()) {
      await store.openJob(opening(job));
      await store.finishJob(finishing(job.id, { now: start + index }));
    }
    const resultsOf = () =>
      Promise.all(jobs.map(async ({ id }) => (await store.getJob({ id, ...owner }))?.result ?? null));
    const forget = (endedBefore: number) => store.forgetResults({ endedBefore, limit: 5 });
    const kept = '{"answer":42}';
    expect([await forget(start + 1), await resultsOf()]).toEqual([1, [null, kept, kept]]);
    expect([await forget(start + 9), await resultsOf()]).toEqual([1, [null, null, kept]]);
    expect(await forget(start + 9)).toBe(0);
  });
});
