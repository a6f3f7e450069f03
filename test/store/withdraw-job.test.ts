import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Store } from '../../src/store/store.ts';
import {
  addAccount,
  assertSoundBooks,
  available,
  deadJobError,
  finishing,
  openJob,
  opening,
  queuedJob,
  reapAndFail,
  reaping,
  runningJob,
  start,
  type Owner,
} from './builders.ts';
import { testEngines, type TestStore } from './open-test-store.ts';

const canceller = 'canceller';

describe.each(testEngines())('withdrawing a job on $kind', ({ create }) => {
  let data: TestStore;
  let store: Store;
  let owner: Owner;
  beforeAll(async () => {
    data = await create();
    ({ store } = data);
    owner = await addAccount(store, { balance: 10_000n });
  });
  afterEach(async () => {
    await assertSoundBooks(store);
    // Whatever a test left behind is ended, so that the next one claims only its own jobs.
    await reapAndFail(store, start + 10 ** 9);
  });
  afterAll(() => data.remove());

  const queue = () => openJob(store, opening(queuedJob(owner)));
  const withdraw = (id: string, accountId = owner.accountId, handle = store) =>
    handle.withdrawJob({ id, accountId, owner: canceller, leaseUntil: start + 30_000 });
  const claim = (handle = store) =>
    handle.claimJobs({
      owner: 'worker',
      kind: 'image',
      limit: 100,
      leaseUntil: start + 30_000,
      now: start + 1,
    });

  it('puts a queued job under the lease of the caller, who ends it uncharged', async () => {
    const before = await available(store, owner.accountId);
    const id = await queue();
    expect(await withdraw(id)).toMatchObject({ id, status: 'running', attempts: 0, leaseOwner: canceller });
    expect(await claim()).toEqual([]);
    const failed = {
      owner: canceller,
      status: 'failed' as const,
      result: null,
      error: deadJobError,
      charge: 0n,
    };
    expect(await store.finishJob(finishing(id, failed))).toMatchObject({ outcome: 'finished', charged: 0n });
    expect(await available(store, owner.accountId)).toBe(before);
  });

  it('leaves alone a job that has begun, has ended, was queued again, or is of another account', async () => {
    const running = await openJob(store, opening(runningJob(owner)));
    const ended = await openJob(store, opening(runningJob(owner)));
    await store.finishJob(finishing(ended));
    const again = await openJob(store, opening(runningJob(owner, { kind: 'video', maxAttempts: 2 })));
    await store.releaseJobs({ owner: 'worker-1', ids: [again] });
    const theirs = await queue();
    const { accountId: stranger } = await addAccount(store);
    for (const id of [running, ended, again, 'no job']) expect(await withdraw(id)).toBeNull();
    expect(await withdraw(theirs, stranger)).toBeNull();
    for (const [id, status] of [
      [running, 'running'],
      [ended, 'done'],
      [again, 'queued'],
      [theirs, 'queued'],
    ] as const)
      expect(await store.getJob({ id, accountId: owner.accountId })).toMatchObject({ id, status });
    expect((await claim()).map(({ id }) => id)).toEqual([theirs]);
  });

  it('queues the job again if the caller dies before it ends it', async () => {
    const id = await queue();
    await withdraw(id);
    expect(await store.reapJobs(reaping(start + 30_000))).toMatchObject({ requeued: [{ id, attempts: 0 }] });
    expect((await claim()).map((job) => job.id)).toEqual([id]);
  });

  it('either the worker or the canceller gets a job', async () => {
    const other = await data.openAnother();
    try {
      const ids = await Promise.all(Array.from({ length: 20 }, queue));
      const [claimed, ...withdrawn] = await Promise.all([
        claim(other),
        ...ids.map((id, index) => withdraw(id, owner.accountId, index % 2 === 0 ? store : other)),
      ]);
      const late = await claim();
      const taken = [...claimed, ...late, ...withdrawn.filter((job) => job !== null)].map(({ id }) => id);
      expect(taken.sort()).toEqual(ids.sort());
    } finally {
      await other.close();
    }
  });
});
