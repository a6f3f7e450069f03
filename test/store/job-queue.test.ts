import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Store } from '../../src/store/store.ts';
import {
  addAccount,
  assertSoundBooks,
  available,
  finishing,
  opening,
  openJob,
  queuedJob,
  reapAndFail,
  reaper,
  reaping,
  runningJob,
  start,
  worker,
} from './builders.ts';
import { testEngines, type TestStore } from './open-test-store.ts';

describe.each(testEngines())('jobs on $kind', ({ create }) => {
  let data: TestStore;
  let store: Store;
  beforeAll(async () => {
    data = await create();
    ({ store } = data);
  });
  afterEach(async () => {
    await assertSoundBooks(store);
    // Whatever a test left behind is ended, so that the next one claims only its own jobs.
    await reapAndFail(store, start + 10 ** 9);
  });
  afterAll(() => data.remove());

  describe('the queue', () => {
    const claim = (changes: Partial<Parameters<Store['claimJobs']>[0]> = {}) =>
      store.claimJobs({
        owner: worker,
        kind: 'image',
        limit: 10,
        leaseUntil: start + 30_000,
        now: start + 100,
        ...changes,
      });

    it('returns queued jobs of the wanted kind, oldest first, under a lease', async () => {
      const owner = await addAccount(store);
      const first = await openJob(store, opening(queuedJob(owner), { now: start + 1 }));
      await openJob(store, opening(queuedJob(owner, { kind: 'video' }), { now: start + 2 }));
      const second = await openJob(store, opening(queuedJob(owner), { now: start + 3 }));
      const third = await openJob(store, opening(queuedJob(owner), { now: start + 4 }));
      const some = await claim({ limit: 2 });
      expect(some.map(({ id }) => id)).toEqual([first, second]);
      expect(some[0]).toMatchObject({
        status: 'running',
        attempts: 1,
        leaseOwner: worker,
        leaseUntil: start + 30_000,
        startedAt: start + 100,
        hold: 100n,
        holdState: 'open',
      });
      expect((await claim()).map(({ id }) => id)).toEqual([third]);
      expect(await claim()).toEqual([]);
    });

    it('lets accounts take turns, so that one with many jobs does not delay the others', async () => {
      const [many, one, late] = [await addAccount(store), await addAccount(store), await addAccount(store)];
      const ofMany: string[] = [];
      for (let count = 0; count < 4; count += 1)
        ofMany.push(await openJob(store, opening(queuedJob(many), { now: start + count })));
      const ofOne = [
        await openJob(store, opening(queuedJob(one), { now: start + 10 })),
        await openJob(store, opening(queuedJob(one), { now: start + 11 })),
      ];
      const ofLate = await openJob(store, opening(queuedJob(late), { now: start + 20 }));
      const idsOf = async (limit: number) => (await claim({ limit })).map(({ id }) => id);
      expect(await idsOf(3)).toEqual([ofMany[0], ofOne[0], ofLate]);
      expect(await idsOf(9)).toEqual([ofMany[1], ofOne[1], ofMany[2], ofMany[3]]);
    });

    it('takes jobs of the SKUs that can run, and a video that was begun upstream whatever its SKU', async () => {
      const owner = await addAccount(store);
      const open = (model: string) => openJob(store, opening(queuedJob(owner, { model, maxAttempts: 2 })));
      const begun = await open('rests');
      await claim();
      await store.recordProgress({ id: begun, owner: worker, providerTask: '{}' });
      await store.releaseJobs({ owner: worker, ids: [begun] });
      const [resting, other] = [await open('rests'), await open('serves')];
      const claimed = await claim({ skus: ['serves', 'no other'] });
      expect(claimed.map(({ id }) => id)).toEqual([begun, other]);
      expect((await claim()).map(({ id }) => id)).toEqual([resting]);
    });

    it('leaves a video to those who have the provider that has begun it, but not one of which nobody knows', async () => {
      const owner = await addAccount(store);
      // What an upstream calls its task may be any text.
      const toTask = (provider: string, task: string) => JSON.stringify({ state: 'started', provider, task });
      const tasks = [toTask('one', '"provider":"two"'), toTask('two', '\0\ud800')];
      const ids: string[] = [];
      for (const providerTask of [...tasks, '{"state":"starting"}']) {
        ids.push(
          await openJob(store, opening(queuedJob(owner, { model: 'gone' }), { now: start + ids.length })),
        );
        await claim();
        await store.recordProgress({ id: ids.at(-1)!, owner: worker, providerTask });
      }
      await store.releaseJobs({ owner: worker, ids });
      const idsOf = async (...providers: string[]) =>
        (await claim({ skus: [], providers })).map(({ id }) => id);
      expect(await idsOf('two', 'three')).toEqual([ids[1], ids[2]]);
      expect(await idsOf('two', 'three')).toEqual([]);
      expect(await idsOf('one')).toEqual([ids[0]]);
    });

    it('leaves out accounts that have their share of the lanes, but not what they have begun upstream', async () => {
      const [full, other] = [await addAccount(store), await addAccount(store)];
      const begun = await openJob(store, opening(queuedJob(full)));
      await claim();
      await store.recordProgress({ id: begun, owner: worker, providerTask: '{}' });
      await store.releaseJobs({ owner: worker, ids: [begun] });
      const ofFull = await openJob(store, opening(queuedJob(full)));
      const ofOther = await openJob(store, opening(queuedJob(other)));
      const claimed = await claim({ fullAccounts: [full.accountId] });
      expect(claimed.map(({ id }) => id).toSorted()).toEqual([begun, ofOther].toSorted());
      expect((await claim()).map(({ id }) => id)).toEqual([ofFull]);
    });

    it('takes back a job that no upstream took, with its turn, and as if it had not been tried', async () => {
      const owner = await addAccount(store);
      const first = await openJob(store, opening(queuedJob(owner), { now: start + 1 }));
      const second = await openJob(store, opening(queuedJob(owner), { now: start + 2 }));
      const theirs = await openJob(store, opening(runningJob(owner, { leaseOwner: 'worker-2' })));
      expect((await claim({ limit: 1 })).map(({ id }) => id)).toEqual([first]);
      await store.recordProgress({ id: first, owner: worker, providerTask: '{"state":"starting"}' });
      expect(await store.returnJob({ id: first, owner: worker })).toBe(true);
      expect(await store.getJob({ id: first, accountId: owner.accountId })).toMatchObject({
        status: 'queued',
        attempts: 0,
        providerTask: null,
        leaseOwner: null,
        holdState: 'open',
      });
      for (const id of [first, theirs, 'no job'])
        expect(await store.returnJob({ id, owner: worker })).toBe(false);
      expect((await claim()).map(({ id, attempts }) => [id, attempts])).toEqual([
        [first, 1],
        [second, 1],
      ]);
    });

    it('returns no job after its deadline', async () => {
      const owner = await addAccount(store);
      await openJob(store, opening(queuedJob(owner, { deadlineAt: start + 50 })));
      expect(await claim({ now: start + 50 })).toEqual([]);
    });

    it('renews the leases that an owner still holds, and returns their ids', async () => {
      const owner = await addAccount(store);
      const mine = await openJob(store, opening(runningJob(owner)));
      const ended = await openJob(store, opening(runningJob(owner)));
      const theirs = await openJob(store, opening(runningJob(owner, { leaseOwner: 'worker-2' })));
      await store.finishJob(finishing(ended));
      const renewed = await store.renewLeases({
        owner: worker,
        ids: [mine, ended, theirs, 'no job'],
        leaseUntil: start + 99_000,
      });
      expect(renewed).toEqual([mine]);
      const { accountId } = owner;
      expect(await store.getJob({ id: mine, accountId })).toMatchObject({ leaseUntil: start + 99_000 });
      expect(await store.getJob({ id: theirs, accountId })).toMatchObject({ leaseUntil: start + 30_000 });
      expect(await store.renewLeases({ owner: worker, ids: [], leaseUntil: start })).toEqual([]);
    });

    it('extends leases by the clock of the database, as far as a ping tells it', async () => {
      const id = await openJob(store, opening(runningJob(await addAccount(store))));
      const { now } = Date;
      const behind = vi.spyOn(Date, 'now').mockImplementation(() => now() - 40_000);
      const leaseUntil = start - (await store.ping());
      behind.mockRestore();
      expect(await store.renewLeases({ owner: worker, ids: [id], leaseUntil })).toEqual([id]);
    });

    it('queues running jobs again that their owner releases, if they have attempts left', async () => {
      const owner = await addAccount(store);
      const mine = await openJob(store, opening(runningJob(owner, { maxAttempts: 2 })));
      const last = await openJob(store, opening(runningJob(owner, { maxAttempts: 1 })));
      const theirs = await openJob(
        store,
        opening(runningJob(owner, { leaseOwner: 'worker-2', maxAttempts: 2 })),
      );
      const released = await store.releaseJobs({ owner: worker, ids: [mine, last, theirs, 'no job'] });
      expect(released).toEqual([mine]);
      expect(await store.releaseJobs({ owner: worker, ids: [] })).toEqual([]);
      expect(
        (await claim({ kind: runningJob(owner).kind })).map(({ id, attempts }) => [id, attempts]),
      ).toEqual([[mine, 2]]);
    });

    it('puts a synchronous job before later ones when it is queued again', async () => {
      const owner = await addAccount(store);
      const open = async (status: 'running' | 'queued', now: number): Promise<string> => {
        const build = status === 'running' ? runningJob : queuedJob;
        return openJob(store, opening(build(owner, { kind: 'image', maxAttempts: 2 }), { now }));
      };
      const died = await open('running', start);
      const released = await open('running', start + 1);
      const later = [await open('queued', start + 2), await open('queued', start + 3)];
      expect(await store.releaseJobs({ owner: worker, ids: [released] })).toEqual([released]);
      await store.reapJobs(reaping(start + 30_000));
      expect((await claim({ now: start + 30_000 })).map(({ id }) => id)).toEqual([died, released, ...later]);
    });

    it('queues a job again if its worker died, keeps its hold and counts the attempts', async () => {
      const owner = await addAccount(store);
      const id = await openJob(store, opening(queuedJob(owner, { maxAttempts: 2 })));
      await claim({ leaseUntil: start + 200 });
      const reap = (now: number) => store.reapJobs(reaping(now));
      expect(await reap(start + 199)).toEqual({ requeued: [], doomed: [] });
      expect(await reap(start + 200)).toMatchObject({
        requeued: [
          { id, status: 'queued', attempts: 1, leaseOwner: null, leaseUntil: null, holdState: 'open' },
        ],
        doomed: [],
      });
      expect(await available(store, owner.accountId)).toBe(900n);
      expect(await claim({ owner: 'worker-2', leaseUntil: start + 400, now: start + 300 })).toMatchObject([
        { id, attempts: 2, leaseOwner: 'worker-2', startedAt: start + 100 },
      ]);
      expect(await store.finishJob(finishing(id, { owner: worker }))).toMatchObject({ outcome: 'lost' });
      expect(await reap(start + 400)).toMatchObject({
        requeued: [],
        doomed: [
          {
            id,
            status: 'running',
            attempts: 2,
            leaseOwner: reaper,
            leaseUntil: start + 30_400,
            startedAt: start + 100,
            holdState: 'open',
          },
        ],
      });
      expect(await available(store, owner.accountId)).toBe(900n);
      expect(await store.finishJob(finishing(id, { owner: 'worker-2' }))).toMatchObject({ outcome: 'lost' });
      expect(await store.finishJob(finishing(id, { owner: reaper, charge: 0n }))).toMatchObject({
        outcome: 'finished',
      });
      expect(await available(store, owner.accountId)).toBe(1_000n);
    });

    it('dooms a queued job after its deadline, and one whose worker died too late for a retry', async () => {
      const owner = await addAccount(store);
      const waiting = await openJob(store, opening(queuedJob(owner, { deadlineAt: start + 50 })));
      const dead = await openJob(
        store,
        opening(runningJob(owner, { maxAttempts: 5, leaseUntil: start + 60, deadlineAt: start + 50 })),
      );
      const { doomed, requeued } = await store.reapJobs(reaping(start + 60));
      expect(requeued).toEqual([]);
      expect(new Map(doomed.map((job) => [job.id, job]))).toMatchObject(
        new Map([
          [waiting, { status: 'running', attempts: 0, startedAt: start + 60, leaseOwner: reaper }],
          [dead, { status: 'running', attempts: 1, startedAt: start, leaseOwner: reaper }],
        ]),
      );
      expect(await available(store, owner.accountId)).toBe(800n);
      expect(await claim({ now: start + 60 })).toEqual([]);
    });

    it('gives a doomed job to the next reaper if the first one died, and never queues it again', async () => {
      const owner = await addAccount(store);
      const id = await openJob(store, opening(queuedJob(owner, { deadlineAt: start + 50 })));
      await store.reapJobs(reaping(start + 50, { leaseUntil: start + 60 }));
      expect(await store.reapJobs(reaping(start + 59, { owner: 'reaper-2' }))).toMatchObject({ doomed: [] });
      expect(await store.reapJobs(reaping(start + 60, { owner: 'reaper-2' }))).toMatchObject({
        requeued: [],
        doomed: [{ id, attempts: 0, leaseOwner: 'reaper-2', startedAt: start + 50 }],
      });
    });

    it('reaps at most `limit` jobs', async () => {
      const owner = await addAccount(store);
      for (let count = 0; count < 5; count += 1)
        await openJob(store, opening(queuedJob(owner, { deadlineAt: start + 50 })));
      const reap = async () => (await store.reapJobs(reaping(start + 50, { limit: 2 }))).doomed.length;
      expect([await reap(), await reap(), await reap(), await reap()]).toEqual([2, 2, 1, 0]);
    });
  });
});

describe.each(testEngines())('the signal of queued jobs on $kind', ({ create }) => {
  let data: TestStore;
  beforeAll(async () => {
    data = await create();
  });
  afterAll(() => data.remove());

  it('reaches a listener for queued and requeued jobs, and not for running ones', async () => {
    const { store } = data;
    const owner = await addAccount(store);
    let heard = 0;
    const word = Promise.withResolvers<void>();
    const stop = store.onJobQueued(() => {
      heard += 1;
      word.resolve();
    });
    await openJob(store, opening(queuedJob(owner)));
    await word.promise;
    stop();
    const before = heard;
    await openJob(store, opening(queuedJob(owner)));
    await openJob(store, opening(runningJob(owner)));
    expect(heard).toBe(before);
    const again = Promise.withResolvers<void>();
    const stopAgain = store.onJobQueued(again.resolve);
    await store.claimJobs({ owner: worker, kind: 'image', limit: 9, leaseUntil: start + 1, now: start });
    await store.reapJobs(reaping(start + 1));
    await again.promise;
    stopAgain();
  });
});
