import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { StoreError } from '../../src/store/store-error.ts';
import type { NewJob, Store } from '../../src/store/store.ts';
import {
  addAccount,
  assertSoundBooks,
  available,
  finishing,
  idempotencyKey,
  opening,
  openJob,
  queuedJob,
  reapAndFail,
  reaping,
  resultMedia,
  runningJob,
  start,
  worker,
  type Owner,
  openWithJob,
} from './builders.ts';
import { endedJobRecord, newJobRecord } from '../../src/store/commands/job-table.ts';
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

  describe('opening', () => {
    it('places the hold and stores the job as it was returned', async () => {
      const owner = await addAccount(store, { balance: 250n });
      const job = runningJob(owner, {
        customData: '{"order":7}',
        parameters: '{"duration":5}',
        webhookUrl: 'https://customer.example/hook',
      });
      const input = opening(job, { hold: 100n });
      expect(await store.openJob(input)).toEqual({ outcome: 'opened', available: 150n });
      const read = await store.getJob({ id: job.id, accountId: owner.accountId });
      expect(read).toEqual({
        ...job,
        unpaidBy: null,
        progress: 0,
        providerTask: null,
        attempts: 1,
        createdAt: start,
        startedAt: start,
        finishedAt: null,
        result: null,
        error: null,
        metadata: null,
        hold: 100n,
        holdState: 'open',
        charged: 0n,
        refunded: 0n,
      });
      expect(newJobRecord(input)).toEqual(read);
      expect(await store.getAccount(owner.accountId)).toMatchObject({ balance: 250n, held: 100n });
    });

    it('keeps texts exactly, with any characters', async () => {
      const owner = await addAccount(store);
      const request = JSON.stringify({ prompt: `"quoted" ümläut 日本 🎈 \\ ${'x'.repeat(100_000)}` });
      const id = await openJob(store, opening(runningJob(owner, { request })));
      expect((await store.getJob({ id, accountId: owner.accountId }))?.request).toBe(request);
    });

    it('refuses a hold above the available balance and keeps nothing of it', async () => {
      const owner = await addAccount(store, { balance: 100n });
      const job = runningJob(owner);
      const refused = await store.openJob(opening(job, { hold: 101n, idempotency: idempotencyKey('k') }));
      expect(refused).toEqual({ outcome: 'insufficient', available: 100n });
      expect(await store.getJob({ id: job.id, accountId: owner.accountId })).toBeNull();
      const later = await store.openJob(opening(job, { hold: 100n, idempotency: idempotencyKey('k') }));
      expect(later).toMatchObject({ outcome: 'opened', available: 0n });
    });

    it('opens a job without a hold on an empty balance', async () => {
      const owner = await addAccount(store, { balance: 0n });
      expect(await store.openJob(opening(runningJob(owner), { hold: 0n }))).toMatchObject({
        outcome: 'opened',
        available: 0n,
      });
    });

    it('rejects a negative hold and changes nothing', async () => {
      const owner = await addAccount(store, { balance: 100n });
      await expect(store.openJob(opening(runningJob(owner), { hold: -1n }))).rejects.toThrow(StoreError);
      expect(await available(store, owner.accountId)).toBe(100n);
    });

    it('rejects the id of another job and changes nothing', async () => {
      const owner = await addAccount(store, { balance: 300n });
      const job = runningJob(owner);
      await openJob(store, opening(job));
      await expect(store.openJob(opening(job))).rejects.toThrow(StoreError);
      expect(await available(store, owner.accountId)).toBe(200n);
    });

    it('forbids a revoked key, a key of another account and an account that is not active', async () => {
      const revoked = await addAccount(store);
      await store.revokeKey({ id: revoked.keyId, now: start });
      const [one, other] = [await addAccount(store), await addAccount(store)];
      const pending = await addAccount(store, { status: 'pending' });
      const suspended = await addAccount(store, { status: 'suspended' });
      const owners = [
        revoked,
        { accountId: one.accountId, keyId: other.keyId },
        pending,
        suspended,
        { accountId: 'nobody', keyId: one.keyId },
        { accountId: one.accountId, keyId: 'no key' },
      ];
      for (const owner of owners)
        expect(await store.openJob(opening(runningJob(owner)))).toEqual({ outcome: 'forbidden' });
      expect(await available(store, one.accountId)).toBe(1_000n);
    });
  });

  describe('a limit of active jobs', () => {
    const limited = (owner: Owner, activeLimit: number, changes: Partial<NewJob> = {}) =>
      openWithJob(store, opening(queuedJob(owner, { kind: 'video', ...changes }), { activeLimit }));

    it('counts queued and running jobs only', async () => {
      const owner = await addAccount(store);
      expect(await limited(owner, 2)).toMatchObject({ outcome: 'opened' });
      const running = { status: 'running' as const, leaseOwner: worker, leaseUntil: start + 30_000 };
      const second = await limited(owner, 2, { id: randomUUID(), ...running });
      if (second.outcome !== 'opened') throw new Error(second.outcome);
      expect(await limited(owner, 2)).toEqual({ outcome: 'too_many_active', active: 2 });
      expect(await available(store, owner.accountId)).toBe(800n);
      await store.finishJob(finishing(second.job.id));
      expect(await limited(owner, 2)).toMatchObject({ outcome: 'opened' });
      expect(await limited(owner, 1)).toEqual({ outcome: 'too_many_active', active: 2 });
      expect(await limited(owner, 0)).toEqual({ outcome: 'too_many_active', active: 2 });
    });

    it('counts one kind of job of one account', async () => {
      const [one, other] = [await addAccount(store), await addAccount(store)];
      expect(await limited(one, 1)).toMatchObject({ outcome: 'opened' });
      expect(await limited(one, 1, { kind: 'image' })).toMatchObject({ outcome: 'opened' });
      expect(await limited(other, 1)).toMatchObject({ outcome: 'opened' });
      expect(await limited(one, 1)).toEqual({ outcome: 'too_many_active', active: 1 });
    });

    it('comes after the replay and the key, and before the balance', async () => {
      const owner = await addAccount(store, { balance: 100n });
      const idempotency = idempotencyKey('k');
      const video = () => queuedJob(owner, { kind: 'video' });
      const id = await openJob(store, opening(video(), { idempotency }));
      const again = { activeLimit: 1, idempotency };
      expect(await store.openJob(opening(video(), again))).toMatchObject({
        outcome: 'replayed',
        job: { id },
      });
      const otherBody = idempotencyKey('k', { bodyHash: 'body-2' });
      expect(await store.openJob(opening(video(), { ...again, idempotency: otherBody }))).toEqual({
        outcome: 'conflict',
      });
      // Nothing is left of the balance either.
      expect(await limited(owner, 1)).toEqual({ outcome: 'too_many_active', active: 1 });
      expect(await limited(owner, 2)).toEqual({ outcome: 'insufficient', available: 0n });
      await store.revokeKey({ id: owner.keyId, now: start });
      expect(await limited(owner, 1)).toEqual({ outcome: 'forbidden' });
    });

    it('lets a refused idempotency key be used again', async () => {
      const owner = await addAccount(store);
      const first = await openJob(store, opening(runningJob(owner, { kind: 'video' })));
      const input = opening(queuedJob(owner, { kind: 'video' }), {
        activeLimit: 1,
        idempotency: idempotencyKey('k'),
      });
      expect(await store.openJob(input)).toMatchObject({ outcome: 'too_many_active' });
      await store.finishJob(finishing(first));
      expect(await store.openJob(input)).toMatchObject({ outcome: 'opened' });
    });
  });

  describe('progress', () => {
    const read = async (id: string, owner: Owner) => store.getJob({ id, accountId: owner.accountId });

    it('is stored for a running job by its lease owner, each part separately', async () => {
      const owner = await addAccount(store);
      const id = await openJob(store, opening(runningJob(owner)));
      expect(await read(id, owner)).toMatchObject({ progress: 0, providerTask: null });
      const note = (input: { progress?: number; providerTask?: string }) =>
        store.recordProgress({ id, owner: worker, ...input });
      expect(await note({ providerTask: '{"task":"t-1"}' })).toBe(true);
      expect(await note({ progress: 40 })).toBe(true);
      expect(await note({})).toBe(true);
      expect(await read(id, owner)).toMatchObject({ progress: 40, providerTask: '{"task":"t-1"}' });
      await expect(note({ progress: 101 })).rejects.toThrow(StoreError);
      await expect(note({ progress: -1 })).rejects.toThrow(StoreError);
      expect(await note({ progress: 100, providerTask: '{"task":"t-2"}' })).toBe(true);
      expect(await read(id, owner)).toMatchObject({ progress: 100, providerTask: '{"task":"t-2"}' });
    });

    it('is not stored by another owner, before the start, or after the end', async () => {
      const owner = await addAccount(store);
      const id = await openJob(store, opening(runningJob(owner)));
      const queued = await openJob(store, opening(queuedJob(owner)));
      expect(await store.recordProgress({ id, owner: 'worker-2', progress: 5 })).toBe(false);
      expect(await store.recordProgress({ id: queued, owner: worker, progress: 5 })).toBe(false);
      expect(await store.recordProgress({ id: 'no job', owner: worker, progress: 5 })).toBe(false);
      await store.finishJob(finishing(id));
      expect(await store.recordProgress({ id, owner: worker, progress: 5 })).toBe(false);
      expect(await read(id, owner)).toMatchObject({ progress: 0 });
    });

    it('is kept when the job is claimed again, so that the upstream can be asked', async () => {
      const owner = await addAccount(store);
      const id = await openJob(store, opening(runningJob(owner, { maxAttempts: 2, leaseUntil: start + 10 })));
      await store.recordProgress({ id, owner: worker, progress: 30, providerTask: '{"task":"t-1"}' });
      expect(await store.reapJobs(reaping(start + 10))).toMatchObject({
        requeued: [{ id, progress: 30, providerTask: '{"task":"t-1"}' }],
      });
    });
  });

  describe('finishing', () => {
    it('captures the charge, releases the rest and writes the debit', async () => {
      const owner = await addAccount(store, { balance: 250n });
      const job = runningJob(owner);
      const opened = opening(job, { hold: 100n });
      await openJob(store, opened);
      const entryId = randomUUID();
      await store.recordProgress({ id: job.id, owner: worker, progress: 40, providerTask: '"task"' });
      const input = finishing(job.id, { charge: 60n, entryId });
      const ended = { progress: 40, providerTask: '"task"', charged: 60n };
      expect(await store.finishJob(input)).toEqual({ outcome: 'finished', available: 190n, ...ended });
      const read = await store.getJob({ id: job.id, accountId: owner.accountId });
      expect(read).toMatchObject({
        id: job.id,
        status: 'done',
        result: '{"answer":42}',
        error: null,
        metadata: '{"provider":"sandbox"}',
        finishedAt: start + 1_000,
        leaseOwner: null,
        leaseUntil: null,
        hold: 100n,
        holdState: 'captured',
        charged: 60n,
      });
      expect(endedJobRecord(newJobRecord(opened), input, ended)).toEqual(read);
      expect(await store.getAccount(owner.accountId)).toMatchObject({ balance: 190n, held: 0n });
      const entries = await data.sql(
        `select type, amount, job_id, created_at from ledger_entries where id = '${entryId}'`,
      );
      expect(entries.map((entry) => ({ ...entry, amount: Number(entry.amount), created_at: null }))).toEqual([
        { type: 'debit', amount: -60, job_id: job.id, created_at: null },
      ]);
    });

    it('releases the whole hold when nothing is charged', async () => {
      const owner = await addAccount(store, { balance: 250n });
      const id = await openJob(store, opening(runningJob(owner)));
      const error = { type: 'server_error', code: 'upstream_error', message: 'Try again.', param: null };
      await store.finishJob(finishing(id, { status: 'failed', result: null, error, charge: 0n }));
      expect(await store.getJob({ id, accountId: owner.accountId })).toMatchObject({
        status: 'failed',
        error,
        holdState: 'released',
        charged: 0n,
      });
      expect(await available(store, owner.accountId)).toBe(250n);
    });

    it('never charges more than the hold', async () => {
      const owner = await addAccount(store, { balance: 250n });
      const id = await openJob(store, opening(runningJob(owner), { hold: 100n }));
      expect(await store.finishJob(finishing(id, { charge: 10_000n }))).toMatchObject({
        charged: 100n,
      });
      expect(await available(store, owner.accountId)).toBe(150n);
    });

    it('rejects a negative charge and leaves the job as it was', async () => {
      const owner = await addAccount(store);
      const id = await openJob(store, opening(runningJob(owner)));
      await expect(store.finishJob(finishing(id, { charge: -1n }))).rejects.toThrow(StoreError);
      expect(await store.getJob({ id, accountId: owner.accountId })).toMatchObject({ status: 'running' });
    });

    it('is refused for another owner and for a queued, ended or unknown job, and changes nothing', async () => {
      const owner = await addAccount(store);
      const id = await openJob(store, opening(runningJob(owner)));
      const queued = await openJob(store, opening(queuedJob(owner)));
      expect(await store.finishJob(finishing(id, { owner: 'worker-2' }))).toMatchObject({
        outcome: 'lost',
        job: { id, status: 'running', leaseOwner: worker },
      });
      expect(await store.finishJob(finishing(queued))).toMatchObject({
        outcome: 'lost',
        job: { id: queued },
      });
      expect(await store.finishJob(finishing('no job'))).toEqual({ outcome: 'lost', job: null });
      await store.finishJob(finishing(id));
      expect(await store.finishJob(finishing(id, { charge: 99n }))).toMatchObject({
        outcome: 'lost',
        job: { status: 'done', charged: 60n },
      });
      expect(await available(store, owner.accountId)).toBe(840n);
    });

    it('writes the media rows together with the job, or neither', async () => {
      const owner = await addAccount(store);
      const id = await openJob(store, opening(runningJob(owner)));
      const media = resultMedia({ accountId: owner.accountId, jobId: id }, { sizeBytes: 5_000_000_000 });
      await expect(
        store.finishJob(finishing(id, { media: [media, { ...media, id: randomUUID(), jobId: 'no job' }] })),
      ).rejects.toThrow(StoreError);
      expect(await store.getMedia(media.id)).toBeNull();
      expect(await store.getJob({ id, accountId: owner.accountId })).toMatchObject({ status: 'running' });
      await store.finishJob(finishing(id, { media: [media] }));
      expect(await store.getMedia(media.id)).toEqual({ ...media, createdAt: start + 1_000, removedAt: null });
    });
  });

  describe('reading', () => {
    it('shows a job to its own account only', async () => {
      const [one, other] = [await addAccount(store), await addAccount(store)];
      const id = await openJob(store, opening(runningJob(one)));
      expect(await store.getJob({ id, accountId: other.accountId })).toBeNull();
    });
  });
});
