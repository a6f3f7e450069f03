import { randomUUID } from 'node:crypto';
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
  queuedJob,
  reapAndFail,
  reaper,
  reaping,
  reservedMedia,
  runningJob,
  start,
  worker,
  openWithJob,
} from './builders.ts';
import { claimDueWebhooks } from './claim-due-webhooks.ts';
import { testEngines, type TestStore } from './open-test-store.ts';

const countOf = (results: { outcome: string }[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const { outcome } of results) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
};

describe.each(testEngines({ storeThreads: true }))('two processes at once on $kind', ({ create }) => {
  let data: TestStore;
  let store: Store;
  let other: Store;
  beforeAll(async () => {
    data = await create();
    ({ store } = data);
    other = await data.openAnother();
  });
  afterEach(async () => {
    await assertSoundBooks(store);
    await reapAndFail(store, start + 10 ** 9);
  });
  afterAll(() => data.remove());

  /** Runs `work` many times at once, in turn on both handles. */
  const atOnce = <T>(times: number, work: (store: Store, index: number) => Promise<T>): Promise<T[]> =>
    Promise.all(Array.from({ length: times }, (_, index) => work(index % 2 === 0 ? store : other, index)));

  it('one idempotency key opens one job, and all others get that job', async () => {
    const owner = await addAccount(store, { balance: 1_000n });
    const idempotency = idempotencyKey('race');
    const results = await atOnce(50, (handle) =>
      openWithJob(handle, opening(runningJob(owner), { idempotency })),
    );
    expect(countOf(results)).toEqual({ opened: 1, replayed: 49 });
    const ids = new Set(results.map((result) => ('job' in result ? result.job.id : null)));
    expect(ids.size).toBe(1);
    expect(await available(store, owner.accountId)).toBe(900n);
  });

  it('one idempotency key with two bodies opens one of them, and the other is a conflict', async () => {
    const owner = await addAccount(store, { balance: 1_000n });
    const results = await atOnce(40, (handle, index) =>
      openWithJob(
        handle,
        opening(runningJob(owner), {
          idempotency: idempotencyKey('race', { bodyHash: `body-${index % 2}` }),
        }),
      ),
    );
    expect(countOf(results)).toEqual({ opened: 1, replayed: 19, conflict: 20 });
  });

  it('one expired idempotency key is taken over by one job', async () => {
    const owner = await addAccount(store, { balance: 1_000n });
    const expired = idempotencyKey('race', { expiresAt: start + 1 });
    await openJob(store, opening(runningJob(owner), { idempotency: expired }));
    const results = await atOnce(30, (handle) =>
      openWithJob(
        handle,
        opening(runningJob(owner), { idempotency: idempotencyKey('race'), now: start + 1 }),
      ),
    );
    expect(countOf(results)).toEqual({ opened: 1, replayed: 29 });
  });

  it('one idempotency key that a failed job frees at that moment is taken over by one job', async () => {
    const owner = await addAccount(store, { balance: 10_000n });
    const idempotency = idempotencyKey('race');
    const open = (handle: Store) => openWithJob(handle, opening(runningJob(owner), { idempotency }));
    const first = await openJob(store, opening(runningJob(owner), { idempotency }));
    const failed = { status: 'failed' as const, result: null, charge: 0n, error: deadJobError };
    const [, ...during] = await Promise.all([
      store.finishJob(finishing(first, failed)),
      ...Array.from({ length: 40 }, (_, index) => open(index % 2 === 0 ? store : other)),
    ]);
    const after = await open(other);
    const [opened, ...more] = [...during, after].filter(({ outcome }) => outcome === 'opened');
    expect(more).toEqual([]);
    const second = opened !== undefined && 'job' in opened ? opened.job.id : null;
    const ids = new Set([...during, after].map((result) => ('job' in result ? result.job.id : null)));
    expect([...ids].filter((id) => id !== first)).toEqual([second]);
    expect(await available(store, owner.accountId)).toBe(9_900n);
  });

  it('a balance for ten opens ten of a hundred jobs', async () => {
    const owner = await addAccount(store, { balance: 1_000n });
    const results = await atOnce(100, (handle) =>
      openWithJob(handle, opening(runningJob(owner), { hold: 100n })),
    );
    expect(countOf(results)).toEqual({ opened: 10, insufficient: 90 });
    expect(await available(store, owner.accountId)).toBe(0n);
  });

  it('a limit of five active jobs opens five of fifty, and as many again as end', async () => {
    const owner = await addAccount(store, { balance: 100_000n });
    const open = (handle: Store) =>
      openWithJob(handle, opening(runningJob(owner, { kind: 'video' }), { activeLimit: 5 }));
    const results = await atOnce(50, open);
    expect(countOf(results)).toEqual({ opened: 5, too_many_active: 45 });
    const ids = results.flatMap((result) => (result.outcome === 'opened' ? [result.job.id] : []));
    const ended = Promise.all(ids.slice(0, 3).map((id) => store.finishJob(finishing(id))));
    const during = await atOnce(20, open);
    await ended;
    const after = await atOnce(20, open);
    expect((countOf(during).opened ?? 0) + (countOf(after).opened ?? 0)).toBe(3);
  });

  it('a limit of active jobs holds beside jobs of the account that have none', async () => {
    const owner = await addAccount(store, { balance: 100_000n });
    const results = await atOnce(60, (handle, index) =>
      index % 3 === 0
        ? openWithJob(handle, opening(runningJob(owner), { idempotency: idempotencyKey(`k${index % 2}`) }))
        : openWithJob(
            handle,
            opening(runningJob(owner, { kind: 'video' }), {
              activeLimit: 4,
              idempotency: idempotencyKey(`v${index}`),
            }),
          ),
    );
    const opened = results.flatMap((result) => (result.outcome === 'opened' ? [result.job.kind] : []));
    expect(opened.filter((kind) => kind === 'video')).toHaveLength(4);
    expect(opened.filter((kind) => kind === 'chat')).toHaveLength(2);
  });

  it('one input becomes that of one job, and the other openings leave no trace', async () => {
    const owner = await addAccount(store, { balance: 1_000n });
    const media = reservedMedia(owner.accountId);
    await store.reserveMedia(media);
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, (_, index) =>
        (index % 2 === 0 ? store : other).openJob(
          opening(queuedJob(owner), { inputs: [media.id], hold: 10n }),
        ),
      ),
    );
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await available(store, owner.accountId)).toBe(990n);
  });

  it('an opening while its input expires has the input or is undone', async () => {
    const owner = await addAccount(store, { balance: 100_000n });
    for (let round = 0; round < 10; round += 1) {
      const media = reservedMedia(owner.accountId, { expiresAt: start + 5 });
      await store.reserveMedia(media);
      const job = queuedJob(owner);
      const [opened] = await Promise.allSettled([
        store.openJob(opening(job, { inputs: [media.id] })),
        other.discardMedia({ ids: [media.id], now: start }),
      ]);
      const attached = await store.listMedia(job.id);
      expect(attached).toHaveLength(opened.status === 'fulfilled' ? 1 : 0);
    }
  });

  it('no webhook event is claimed twice, and one process records each', async () => {
    const owner = await addAccount(store, { balance: 100_000n });
    const ids = await atOnce(40, async (handle) => {
      const jobId = await openJob(
        handle,
        opening(runningJob(owner, { webhookUrl: 'https://customer.example' })),
      );
      await handle.finishJob(finishing(jobId, { webhook: { eventId: jobId, body: '{}' } }));
      return jobId;
    });
    const claim = (handle: Store, sender: string, now: number) =>
      claimDueWebhooks(handle, { owner: sender, leaseUntil: now + 9, limit: 3, now });
    const claimed: string[] = [];
    for (let round = 0; round < 4; round += 1) {
      const taken = await atOnce(8, (handle, index) => claim(handle, `sender-${index}`, start + 1_000));
      claimed.push(...taken.flat().map(({ id }) => id));
    }
    expect(claimed.sort()).toEqual(ids.sort());
    const records = await atOnce(8, (handle, index) =>
      handle.recordWebhookAttempt({
        eventId: ids[0]!,
        owner: `sender-${index}`,
        attempt: { at: start, durationMs: 1, httpStatus: 200, failure: null },
        state: 'delivered',
        nextAttemptAt: null,
      }),
    );
    expect(records.filter(Boolean)).toHaveLength(1);
    expect(await store.listWebhookAttempts(ids[0]!)).toHaveLength(1);
  });

  it('idempotency keys are swept once each', async () => {
    const owner = await addAccount(store, { balance: 100_000n });
    await store.sweepIdempotencyKeys({ now: start + 10 ** 9, limit: 1_000 });
    await atOnce(30, (handle, index) =>
      openWithJob(
        handle,
        opening(runningJob(owner), { idempotency: idempotencyKey(`k${index}`, { expiresAt: start + 1 }) }),
      ),
    );
    const swept = await atOnce(6, (handle) => handle.sweepIdempotencyKeys({ now: start + 1, limit: 10 }));
    const rest = await store.sweepIdempotencyKeys({ now: start + 1, limit: 99 });
    expect(swept.reduce((sum, count) => sum + count, rest)).toBe(30);
  });

  it('jobs, adjustments and finishes share one balance and never overdraw it', async () => {
    const owner = await addAccount(store, { balance: 1_000n });
    const { accountId } = owner;
    await atOnce(60, async (handle, index) => {
      if (index % 3 === 0) {
        const amount = -70n;
        return handle.postEntry({
          id: randomUUID(),
          accountId,
          type: 'adjustment',
          amount,
          note: null,
          now: start,
        });
      }
      const opened = await openWithJob(handle, opening(runningJob(owner), { hold: 90n }));
      return opened.outcome === 'opened'
        ? handle.finishJob(finishing(opened.job.id, { charge: 50n }))
        : opened;
    });
    const account = await store.getAccount(accountId);
    expect(account?.held).toBe(0n);
    expect(account?.balance).toBeGreaterThanOrEqual(0n);
  });

  it('a job that cannot be opened does not touch those that are opened with it', async () => {
    const owner = await addAccount(store, { balance: 1_000n });
    const [bad, ...good] = await Promise.allSettled([
      store.openJob(opening(runningJob(owner), { hold: -1n })),
      ...Array.from({ length: 9 }, () => store.openJob(opening(runningJob(owner)))),
    ]);
    expect(bad.status).toBe('rejected');
    expect(
      good.map((settled) => (settled.status === 'fulfilled' ? settled.value.outcome : settled.reason)),
    ).toEqual(Array(9).fill('opened'));
    expect(await available(store, owner.accountId)).toBe(100n);
  });

  it('queued jobs of one account that are opened at once have turns one after another', async () => {
    const owner = await addAccount(store, { balance: 1_000n });
    await Promise.all(Array.from({ length: 4 }, () => store.openJob(opening(queuedJob(owner)))));
    const rows = await data.sql(
      `select turn from jobs where account_id = '${owner.accountId}' order by turn`,
    );
    expect(rows.map(({ turn }) => Number(turn) - start)).toEqual([0, 60_000, 120_000, 180_000]);
    const claim = { owner: worker, kind: 'image', limit: 9, leaseUntil: start + 1, now: start } as const;
    expect(await store.claimJobs(claim)).toHaveLength(4);
  });

  it('jobs that end while their leases are renewed in another order all end', async () => {
    const owner = await addAccount(store, { balance: 10_000n });
    const ids = await Promise.all(
      Array.from({ length: 60 }, () => openJob(store, opening(runningJob(owner)))),
    );
    const renewals = atOnce(20, (handle, index) =>
      handle.renewLeases({
        owner: worker,
        ids: index % 3 === 0 ? ids.toReversed() : ids,
        leaseUntil: start + 60_000 + index,
      }),
    );
    const ends = await Promise.all(
      ids.map((id, index) => (index % 2 === 0 ? store : other).finishJob(finishing(id))),
    );
    await renewals;
    expect(countOf(ends)).toEqual({ finished: 60 });
    expect(await available(store, owner.accountId)).toBe(10_000n - 60n * 60n);
  });

  it('one of many finishers ends the job', async () => {
    const owner = await addAccount(store, { balance: 1_000n });
    const id = await openJob(store, opening(runningJob(owner)));
    const results = await atOnce(20, (handle) => handle.finishJob(finishing(id, { charge: 60n })));
    expect(countOf(results)).toEqual({ finished: 1, lost: 19 });
    const ended = { status: 'done', charged: 60n };
    for (const result of results)
      expect('job' in result ? result.job : result).toMatchObject(
        result.outcome === 'lost' ? ended : { charged: 60n },
      );
    expect(await available(store, owner.accountId)).toBe(940n);
  });

  it('either the finisher or the reaper ends a job whose lease expired', async () => {
    const owner = await addAccount(store, { balance: 10_000n });
    const ids: string[] = [];
    for (let count = 0; count < 20; count += 1)
      ids.push(await openJob(store, opening(runningJob(owner, { leaseUntil: start + 1 }))));
    const [reaped, finished] = await Promise.all([
      other.reapJobs(reaping(start + 1)),
      Promise.all(ids.map((id) => store.finishJob(finishing(id)))),
    ]);
    const { finished: won = 0 } = countOf(finished);
    expect(won + reaped.doomed.length).toBe(20);
    const late = reaped.doomed.map(({ id }) => store.finishJob(finishing(id, { owner: reaper, charge: 0n })));
    expect(countOf(await Promise.all(late)).finished ?? 0).toBe(20 - won);
    expect(await available(store, owner.accountId)).toBe(10_000n - 60n * BigInt(won));
  });

  it('no job is claimed twice', async () => {
    const owner = await addAccount(store, { balance: 10_000n });
    const ids: string[] = [];
    for (let count = 0; count < 40; count += 1) ids.push(await openJob(store, opening(queuedJob(owner))));
    const claimed = await atOnce(16, (handle, index) =>
      handle.claimJobs({
        owner: `worker-${index}`,
        kind: 'image',
        limit: 3,
        leaseUntil: start + 9,
        now: start,
      }),
    );
    const rest = await store.claimJobs({
      owner: worker,
      kind: 'image',
      limit: 99,
      leaseUntil: start,
      now: start,
    });
    expect([...claimed.flat(), ...rest].map(({ id }) => id).sort()).toEqual(ids.sort());
  });

  it('no job is reaped twice', async () => {
    const owners = [await addAccount(store), await addAccount(store), await addAccount(store)];
    for (let count = 0; count < 30; count += 1)
      await openJob(store, opening(runningJob(owners[count % 3]!, { leaseUntil: start + 1 }), { hold: 7n }));
    const reaped = await atOnce(8, (handle, index) =>
      handle.reapJobs(reaping(start + 1, { owner: `reaper-${index}`, limit: 10 })),
    );
    const rest = await store.reapJobs(reaping(start + 1));
    const ids = [...reaped, rest].flatMap(({ doomed }) => doomed.map(({ id }) => id));
    expect(ids).toHaveLength(30);
    expect(new Set(ids).size).toBe(30);
  });

  it('refunds at the same time do not exceed the charge', async () => {
    const owner = await addAccount(store, { balance: 1_000n });
    const jobId = await openJob(store, opening(runningJob(owner)));
    await store.finishJob(finishing(jobId, { charge: 100n }));
    const results = await atOnce(20, (handle) =>
      handle.refundJob({ entryId: randomUUID(), jobId, amount: 30n, note: null, now: start }),
    );
    expect(countOf(results)).toEqual({ refunded: 3, too_much: 17 });
    expect(await available(store, owner.accountId)).toBe(990n);
  });

  it('the rest of a charge is refunded once by many refunds at the same time', async () => {
    const owner = await addAccount(store, { balance: 1_000n });
    const jobId = await openJob(store, opening(runningJob(owner)));
    await store.finishJob(finishing(jobId, { charge: 100n }));
    const results = await atOnce(20, (handle) =>
      handle.refundJob({ entryId: randomUUID(), jobId, amount: null, note: null, now: start }),
    );
    expect(countOf(results)).toEqual({ refunded: 1, too_much: 19 });
    expect(await available(store, owner.accountId)).toBe(1_000n);
  });

  it('one entry sent many times is posted once, and every sender gets it', async () => {
    const { accountId } = await addAccount(store, { balance: 0n });
    const entry = {
      id: randomUUID(),
      accountId,
      type: 'topup' as const,
      amount: 500n,
      note: null,
      now: start,
    };
    const results = await atOnce(20, (handle) => handle.postEntry(entry));
    expect(countOf(results)).toEqual({ posted: 20 });
    expect(await available(store, accountId)).toBe(500n);
  });
});
