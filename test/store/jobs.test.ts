import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { StoreError } from '../../src/store/store-error.ts';
import type { NewJob, Store } from '../../src/store/store.ts';
import {
  deadJobError,
  addAccount,
  assertSoundBooks,
  available,
  finishing,
  idempotencyKey,
  opening,
  openJob,
  queuedJob,
  reapAndFail,
  reaper,
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

  describe('an idempotency key', () => {
    it('returns the job that it opened, running or ended, even if the balance is now too low', async () => {
      const owner = await addAccount(store, { balance: 100n });
      const idempotency = idempotencyKey('again');
      const id = await openJob(store, opening(runningJob(owner), { idempotency }));
      const second = await store.openJob(opening(runningJob(owner), { idempotency }));
      expect(second).toMatchObject({ outcome: 'replayed', job: { id, status: 'running' }, available: 0n });
      await store.finishJob(finishing(id, { charge: 100n }));
      const third = await store.openJob(opening(runningJob(owner), { idempotency }));
      expect(third).toMatchObject({
        outcome: 'replayed',
        job: { id, status: 'done', charged: 100n },
        available: 0n,
      });
    });

    it('returns its job although the key was revoked or the account suspended', async () => {
      const owner = await addAccount(store);
      const idempotency = idempotencyKey('again');
      const id = await openJob(store, opening(runningJob(owner), { idempotency }));
      await store.revokeKey({ id: owner.keyId, now: start });
      await store.setAccountStatus({ id: owner.accountId, status: 'suspended', now: start });
      expect(await store.openJob(opening(runningJob(owner), { idempotency }))).toMatchObject({
        outcome: 'replayed',
        job: { id },
      });
    });

    it('is a conflict with another body', async () => {
      const owner = await addAccount(store);
      await openJob(store, opening(runningJob(owner), { idempotency: idempotencyKey('k') }));
      const other = idempotencyKey('k', { bodyHash: 'body-2' });
      expect(await store.openJob(opening(runningJob(owner), { idempotency: other }))).toEqual({
        outcome: 'conflict',
      });
      expect(await available(store, owner.accountId)).toBe(900n);
    });

    const failed = { status: 'failed' as const, result: null, charge: 0n };

    it.each([
      ['chat', 'upstream_error'],
      ['responses', 'upstream_unavailable'],
      ['chat', 'server_error'],
      ['chat', 'rate_limit_exceeded'],
      ['responses', 'rate_limit_exceeded'],
      ['chat', 'a code of another version'],
    ] as const)('is free again after a %s that ended in %s, for any request', async (kind, code) => {
      const owner = await addAccount(store);
      const { accountId } = owner;
      const key = idempotencyKey('k');
      const other = idempotencyKey('k', { bodyHash: 'body-2' });
      const open = (idempotency: typeof key) =>
        openWithJob(store, opening(runningJob(owner, { kind }), { idempotency }));
      const first = await openJob(store, opening(runningJob(owner, { kind }), { idempotency: key }));
      expect(await open(other)).toEqual({ outcome: 'conflict' });
      await store.finishJob(finishing(first, { ...failed, error: { ...deadJobError, code } }));
      for (const idempotency of [key, other])
        expect(await store.findReplay({ accountId, idempotency, payment: null, now: start })).toBeNull();
      const second = await open(other);
      expect(second).toMatchObject({ outcome: 'opened' });
      expect(await open(key)).toEqual({ outcome: 'conflict' });
      expect(await open(other)).toMatchObject({
        outcome: 'replayed',
        job: 'job' in second && { id: second.job.id },
      });
      expect(await store.getJob({ id: first, accountId })).toMatchObject({
        status: 'failed',
        error: { code },
      });
    });

    it.each([
      ['chat', 'content_policy_violation', 0n],
      ['chat', 'rate_limit_exceeded', 1n],
      ['image', 'rate_limit_exceeded', 0n],
      ['responses', 'invalid_parameter', 0n],
      ['responses', 'upstream_error', 1n],
      ['image', 'upstream_error', 0n],
      ['video', 'server_error', 0n],
    ] as const)('is kept by a %s that ended in %s and was charged %i', async (kind, code, charge) => {
      const owner = await addAccount(store);
      const idempotency = idempotencyKey('k');
      const id = await openJob(store, opening(runningJob(owner, { kind }), { idempotency }));
      await store.finishJob(finishing(id, { ...failed, charge, error: { ...deadJobError, code } }));
      expect(await store.openJob(opening(runningJob(owner, { kind }), { idempotency }))).toMatchObject({
        outcome: 'replayed',
        job: { id },
      });
    });

    it('counts for one endpoint of one account only', async () => {
      const [one, other] = [await addAccount(store), await addAccount(store)];
      const idempotency = idempotencyKey('k');
      await openJob(store, opening(runningJob(one), { idempotency }));
      await openJob(store, opening(runningJob(other), { idempotency }));
      const elsewhere = { ...idempotency, endpoint: 'POST /v1/responses' };
      await openJob(store, opening(runningJob(one), { idempotency: elsewhere }));
      expect(await available(store, one.accountId)).toBe(800n);
    });

    it('is free again when it expires', async () => {
      const owner = await addAccount(store);
      const expiring = idempotencyKey('k', { expiresAt: start + 10 });
      const first = await openJob(store, opening(runningJob(owner), { idempotency: expiring }));
      const before = await store.openJob(
        opening(runningJob(owner), { idempotency: expiring, now: start + 9 }),
      );
      expect(before).toMatchObject({ outcome: 'replayed', job: { id: first } });
      const renewed = idempotencyKey('k', { bodyHash: 'body-2', expiresAt: start + 20 });
      const second = await openJob(
        store,
        opening(runningJob(owner), { idempotency: renewed, now: start + 10 }),
      );
      const after = await store.openJob(
        opening(runningJob(owner), { idempotency: renewed, now: start + 11 }),
      );
      expect(after).toMatchObject({ outcome: 'replayed', job: { id: second } });
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
