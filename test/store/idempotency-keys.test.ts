import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Store } from '../../src/store/store.ts';
import {
  deadJobError,
  addAccount,
  assertSoundBooks,
  available,
  finishing,
  idempotencyKey,
  opening,
  openJob,
  reapAndFail,
  runningJob,
  start,
  openWithJob,
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
});
