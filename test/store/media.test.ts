import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { StoreError } from '../../src/store/store-error.ts';
import type { Store } from '../../src/store/store.ts';
import {
  addAccount,
  assertSoundBooks,
  available,
  finishing,
  idempotencyKey,
  opening,
  openJob,
  queuedJob,
  reservedMedia,
  resultMedia,
  runningJob,
  start,
  type Owner,
} from './builders.ts';
import { testEngines, type TestStore } from './open-test-store.ts';

const day = 86_400_000;

describe.each(testEngines())('media on $kind', ({ create }) => {
  let data: TestStore;
  let store: Store;
  let owner: Owner;
  beforeAll(async () => {
    data = await create();
    ({ store } = data);
  });
  beforeEach(async () => {
    owner = await addAccount(store);
  });
  afterEach(() => assertSoundBooks(store));
  afterAll(() => data.remove());

  /** Reserves a medium of the account and answers its id. */
  const reserve = async (changes: Parameters<typeof reservedMedia>[1] = {}): Promise<string> => {
    const media = reservedMedia(owner.accountId, changes);
    await store.reserveMedia(media);
    return media.id;
  };
  const idsOf = async (jobId: string) => (await store.listMedia(jobId)).map(({ id }) => id);

  describe('reserved', () => {
    it('exist without a job and without a size', async () => {
      const id = await reserve({ role: 'video', contentType: 'video/mp4', expiresAt: start + day });
      expect(await store.getMedia(id)).toEqual({
        id,
        accountId: owner.accountId,
        jobId: null,
        role: 'video',
        contentType: 'video/mp4',
        sizeBytes: 0,
        createdAt: start,
        expiresAt: start + day,
        removedAt: null,
      });
    });

    it('are refused with a used id and for a missing account', async () => {
      const id = await reserve();
      await expect(store.reserveMedia(reservedMedia(owner.accountId, { id }))).rejects.toThrow(StoreError);
      await expect(store.reserveMedia(reservedMedia('nobody'))).rejects.toThrow(StoreError);
    });
  });

  describe('as inputs of a job', () => {
    it('are attached in their order, for a day longer than the job can last', async () => {
      const inputs = [await reserve({ id: `b ${randomUUID()}` }), await reserve({ id: `a ${randomUUID()}` })];
      const job = queuedJob(owner, { deadlineAt: start + 60_000 });
      expect(await store.openJob(opening(job, { inputs }))).toMatchObject({
        outcome: 'opened',
        available: 900n,
      });
      expect(await store.listMedia(job.id)).toMatchObject(
        inputs.map((id) => ({ id, jobId: job.id, role: 'input', expiresAt: start + 60_000 + day })),
      );
    });

    it.each([
      ['is not there', () => Promise.resolve(randomUUID())],
      ['has run out of time', () => reserve({ expiresAt: start })],
      [
        'was removed',
        async () => {
          const id = await reserve({ expiresAt: start });
          await store.markMediaRemoved({ ids: [id], now: start });
          return id;
        },
      ],
      [
        'is of another account',
        async () => {
          const other = reservedMedia((await addAccount(store)).accountId);
          await store.reserveMedia(other);
          return other.id;
        },
      ],
      [
        'already is of another job',
        async () => {
          const id = await reserve();
          await openJob(store, opening(queuedJob(owner), { inputs: [id], hold: 0n }));
          return id;
        },
      ],
    ])('undo the whole opening when one of them %s', async (_what, makeGone) => {
      const [good, gone] = [await reserve(), await makeGone()];
      const job = queuedJob(owner);
      const idempotency = idempotencyKey('k');
      const input = opening(job, { inputs: [good, gone], idempotency });
      await expect(store.openJob(input)).rejects.toThrow(/do not exist any more/);
      expect(await store.getJob({ id: job.id, accountId: owner.accountId })).toBeNull();
      expect(await available(store, owner.accountId)).toBe(1_000n);
      expect(await store.getMedia(good)).toMatchObject({ jobId: null, expiresAt: start + day });
      expect(await store.openJob({ ...input, inputs: [good] })).toMatchObject({ outcome: 'opened' });
    });

    it('undo the opening when one of them is named twice', async () => {
      const id = await reserve();
      await expect(store.openJob(opening(queuedJob(owner), { inputs: [id, id] }))).rejects.toThrow(
        StoreError,
      );
      expect(await store.getMedia(id)).toMatchObject({ jobId: null });
    });

    it('stay reserved when the job is refused', async () => {
      const id = await reserve();
      expect(await store.openJob(opening(queuedJob(owner), { inputs: [id], hold: 1_001n }))).toEqual({
        outcome: 'insufficient',
        available: 1_000n,
      });
      expect(await store.getMedia(id)).toMatchObject({ jobId: null, expiresAt: start + day });
    });

    it('are not changed by a replay, whose job has its own', async () => {
      const [first, second] = [await reserve(), await reserve()];
      const idempotency = idempotencyKey('k');
      const id = await openJob(store, opening(queuedJob(owner), { inputs: [first], idempotency }));
      expect(await store.openJob(opening(queuedJob(owner), { inputs: [second], idempotency }))).toMatchObject(
        {
          outcome: 'replayed',
          job: { id },
        },
      );
      expect(await idsOf(id)).toEqual([first]);
      expect(await store.getMedia(second)).toMatchObject({ jobId: null });
    });

    it('expire when the job ends, unlike its results and the inputs of other jobs', async () => {
      const [mine, theirs] = [await reserve(), await reserve()];
      const id = await openJob(store, opening(runningJob(owner), { inputs: [mine] }));
      const other = await openJob(store, opening(runningJob(owner), { inputs: [theirs] }));
      const result = resultMedia({ accountId: owner.accountId, jobId: id }, { role: 'video' });
      await store.finishJob(finishing(id, { media: [result], now: start + 5 }));
      expect(await store.listMedia(id)).toMatchObject([
        { id: mine, role: 'input', expiresAt: start + 5 },
        { id: result.id, role: 'video', expiresAt: result.expiresAt },
      ]);
      expect(await store.listMedia(other)).toMatchObject([{ id: theirs, expiresAt: start + 60_000 + day }]);
    });

    it('expire when the job fails, and stay if the end is refused', async () => {
      const input = await reserve();
      const id = await openJob(store, opening(runningJob(owner), { inputs: [input] }));
      expect(await store.finishJob(finishing(id, { owner: 'worker-2' }))).toMatchObject({ outcome: 'lost' });
      expect(await store.getMedia(input)).toMatchObject({ expiresAt: start + 60_000 + day });
      await store.finishJob(finishing(id, { status: 'failed', charge: 0n, now: start + 5 }));
      expect(await store.getMedia(input)).toMatchObject({ expiresAt: start + 5 });
    });
  });

  describe('as results of a job', () => {
    it('are taken from the reserved ones and added, in their order', async () => {
      const id = await openJob(store, opening(runningJob(owner)));
      const reserved = await reserve({ id: `z ${randomUUID()}`, now: start + 1 });
      const media = [
        resultMedia(
          { accountId: owner.accountId, jobId: id },
          { id: reserved, role: 'video', contentType: 'video/mp4', sizeBytes: 77, expiresAt: start + 9 },
        ),
        resultMedia(
          { accountId: owner.accountId, jobId: id },
          { id: `a ${randomUUID()}`, role: 'last_frame' },
        ),
      ];
      await store.finishJob(finishing(id, { media }));
      expect(await store.listMedia(id)).toEqual([
        { ...media[0], createdAt: start + 1, removedAt: null },
        { ...media[1], createdAt: start + 1_000, removedAt: null },
      ]);
    });

    it('undo the end if one of them belongs to another account or already to a job', async () => {
      const [one, other] = [owner, await addAccount(store)];
      const id = await openJob(store, opening(runningJob(one)));
      const foreign = reservedMedia(other.accountId);
      await store.reserveMedia(foreign);
      const taken = await reserve();
      const elsewhere = await openJob(store, opening(queuedJob(one), { inputs: [taken] }));
      const fresh = await reserve();
      const job = { accountId: one.accountId, jobId: id };
      for (const bad of [foreign.id, taken]) {
        const media = [resultMedia(job, { id: fresh }), resultMedia(job, { id: bad })];
        await expect(store.finishJob(finishing(id, { media }))).rejects.toThrow(StoreError);
      }
      expect(await store.getJob({ id, accountId: one.accountId })).toMatchObject({ status: 'running' });
      expect(await store.getMedia(fresh)).toMatchObject({ jobId: null });
      expect(await store.getMedia(foreign.id)).toMatchObject({ accountId: other.accountId, jobId: null });
      expect(await store.getMedia(taken)).toMatchObject({ jobId: elsewhere });
      expect(
        await store.finishJob(finishing(id, { media: [resultMedia(job, { id: fresh })] })),
      ).toMatchObject({
        outcome: 'finished',
      });
    });
  });

  describe('whose time is over', () => {
    it('are listed oldest first until their bytes were removed', async () => {
      const fresh = await create();
      try {
        const { accountId } = await addAccount(fresh.store);
        const ids = ['later', 'now', 'sooner', 'soonest'];
        for (const [index, id] of ids.entries())
          await fresh.store.reserveMedia(reservedMedia(accountId, { id, expiresAt: start + 11 - index }));
        const expired = async (limit = 9) =>
          (await fresh.store.listExpiredMedia({ now: start + 10, limit })).map(({ id }) => id);
        expect(await expired()).toEqual(['soonest', 'sooner', 'now']);
        expect(await expired(2)).toEqual(['soonest', 'sooner']);
        await fresh.store.markMediaRemoved({ ids: ['soonest', 'now', 'nothing'], now: start + 10 });
        expect(await expired()).toEqual(['sooner']);
      } finally {
        await fresh.remove();
      }
    });

    it('stay with the first time of removal if a job has them, and are deleted otherwise', async () => {
      const id = await openJob(store, opening(runningJob(owner)));
      const result = resultMedia({ accountId: owner.accountId, jobId: id });
      await store.finishJob(finishing(id, { media: [result] }));
      const reserved = await reserve();
      const ids = [result.id, reserved];
      await store.markMediaRemoved({ ids, now: start + 7 });
      await store.markMediaRemoved({ ids, now: start + 8 });
      expect(await store.listMedia(id)).toMatchObject([{ ...result, removedAt: start + 7 }]);
      expect(await store.getMedia(reserved)).toBeNull();
    });

    it('are exactly the discarded ones; discarding never extends their time', async () => {
      const [one, other, over] = [await reserve(), await reserve(), await reserve({ expiresAt: start + 3 })];
      const taken = await reserve();
      await openJob(store, opening(queuedJob(owner), { inputs: [taken] }));
      await store.discardMedia({ ids: [one, over, taken, 'nothing'], now: start + 5 });
      await store.discardMedia({ ids: [], now: start + 5 });
      const times = await Promise.all(
        [one, other, over, taken].map(async (id) => (await store.getMedia(id))?.expiresAt),
      );
      expect(times).toEqual([start + 5, start + day, start + 3, expect.any(Number)]);
      expect(times[3]).toBeGreaterThan(start + 5);
    });
  });
});
