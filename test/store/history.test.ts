import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { HistoryPosition, Store } from '../../src/store/store.ts';
import {
  addAccount,
  assertSoundBooks,
  deadJobError,
  finishing,
  idempotencyKey,
  opening,
  openJob,
  queuedJob,
  runningJob,
  start,
  type Owner,
} from './builders.ts';
import { testEngines, type TestStore } from './open-test-store.ts';

/** Newest first: the order of every history. */
const newestFirst = (a: HistoryPosition, b: HistoryPosition): number =>
  b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1);

interface PagesOf<T> {
  list: (input: { limit: number; before: HistoryPosition | null }) => Promise<T[]>;
  /** Sizes of the pages, taken in turn. */
  limits: number[];
  /** Happens between two pages. */
  meanwhile?: () => Promise<unknown>;
}

/** Reads page after page until one is empty. */
const allPages = async <T extends HistoryPosition>({ list, limits, meanwhile }: PagesOf<T>): Promise<T[]> => {
  const seen: T[] = [];
  for (let count = 0; ; count += 1) {
    const limit = limits[count % limits.length] ?? 1;
    const page = await list({ limit, before: seen.at(-1) ?? null });
    expect(page.length).toBeLessThanOrEqual(limit);
    if (page.length === 0) return seen;
    seen.push(...page);
    await meanwhile?.();
  }
};

const idsOf = (rows: readonly { id: string }[]): string[] => rows.map(({ id }) => id);

/** Few times and many rows, so that many rows share a time. */
const timesArbitrary = fc.array(fc.nat(4), { minLength: 1, maxLength: 25 });
const limitsArbitrary = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 3 });

describe.each(testEngines())('histories on $kind', ({ create }) => {
  let data: TestStore;
  let store: Store;
  beforeAll(async () => {
    data = await create();
    ({ store } = data);
  });
  afterEach(() => assertSoundBooks(store));
  afterAll(() => data.remove());

  const open = (owner: Owner, now: number, hold = 0n): Promise<string> =>
    openJob(store, opening(runningJob(owner), { hold, now }));
  const adjust = async ({ accountId }: Owner, now: number, amount: bigint): Promise<string> => {
    const id = randomUUID();
    await store.postEntry({ id, accountId, type: 'adjustment', amount, note: 'a reason', now });
    return id;
  };

  describe('of jobs', () => {
    it("show every field of the account's own jobs, and no other account's jobs", async () => {
      const [owner, other] = [await addAccount(store), await addAccount(store)];
      const { accountId, keyId } = owner;
      await open(other, start);
      const queued = await openJob(
        store,
        opening(queuedJob(owner, { kind: 'video', model: 'video-1' }), { now: start + 2 }),
      );
      const failed = await open(owner, start + 1, 100n);
      await store.finishJob(
        finishing(failed, { status: 'failed', error: deadJobError, result: null, charge: 0n }),
      );
      const done = await open(owner, start, 100n);
      await store.finishJob(finishing(done));
      await store.refundJob({ entryId: randomUUID(), jobId: done, amount: 10n, note: null, now: start });
      const common = {
        accountId,
        keyId,
        model: 'textmodel-3.5-flash',
        kind: 'chat',
        refunded: 0n,
        error: null,
      };
      expect(await store.listJobs({ accountId, limit: 9, before: null })).toEqual([
        {
          ...common,
          id: queued,
          model: 'video-1',
          kind: 'video',
          status: 'queued',
          createdAt: start + 2,
          startedAt: null,
          finishedAt: null,
          holdState: 'open',
          charged: 0n,
        },
        {
          ...common,
          id: failed,
          status: 'failed',
          createdAt: start + 1,
          startedAt: start + 1,
          finishedAt: start + 1_000,
          error: deadJobError,
          holdState: 'released',
          charged: 0n,
        },
        {
          ...common,
          id: done,
          status: 'done',
          createdAt: start,
          startedAt: start,
          finishedAt: start + 1_000,
          holdState: 'captured',
          charged: 60n,
          refunded: 10n,
        },
      ]);
    });

    it('contain every job once and in order over all pages, while others arrive', async () => {
      await fc.assert(
        fc.asyncProperty(timesArbitrary, limitsArbitrary, async (times, limits) => {
          const owner = await addAccount(store, { balance: 0n });
          const jobs = await Promise.all(
            times.map(async (time) => ({ id: await open(owner, start + time), createdAt: start + time })),
          );
          const pages = await allPages({
            list: (input) => store.listJobs({ accountId: owner.accountId, ...input }),
            limits,
            meanwhile: () => open(owner, start + 10),
          });
          expect(idsOf(pages)).toEqual(idsOf(jobs.sort(newestFirst)));
        }),
        { numRuns: 15 },
      );
    });
  });

  describe('of entries', () => {
    it('name the model of the job, and leave out entries of amount zero', async () => {
      const owner = await addAccount(store, { balance: 0n });
      const { accountId } = owner;
      const topup = randomUUID();
      await store.postEntry({
        id: topup,
        accountId,
        type: 'topup',
        amount: 500n,
        note: 'paid in',
        now: start,
      });
      await adjust(owner, start + 1, 0n);
      const jobId = await open(owner, start + 2, 100n);
      const [entryId, refundId] = [randomUUID(), randomUUID()];
      await store.finishJob(finishing(jobId, { entryId, now: start + 3 }));
      await store.refundJob({ entryId: refundId, jobId, amount: 10n, note: null, now: start + 4 });
      const common = { accountId, jobId, note: null, payment: null, model: 'textmodel-3.5-flash' };
      expect(await store.listEntries({ accountId, limit: 9, before: null })).toEqual([
        { ...common, id: refundId, type: 'refund', amount: 10n, createdAt: start + 4 },
        { ...common, id: entryId, type: 'debit', amount: -60n, createdAt: start + 3 },
        {
          id: topup,
          accountId,
          type: 'topup',
          amount: 500n,
          jobId: null,
          note: 'paid in',
          payment: null,
          createdAt: start,
          model: null,
        },
      ]);
    });

    it('are found with the balance after them, as the list adds it up, by their id and by the job that they debit', async () => {
      await fc.assert(
        fc.asyncProperty(timesArbitrary, async (times) => {
          const owner = await addAccount(store, { balance: 100n });
          const { accountId } = owner;
          const other = await addAccount(store);
          const byJob = new Map<string, string>();
          for (const [index, time] of times.entries()) {
            if (index % 3 === 0) await adjust(owner, start + time, 7n);
            const jobId = await open(owner, start, 5n);
            const entryId = randomUUID();
            await store.finishJob(finishing(jobId, { entryId, charge: 2n, now: start + time }));
            byJob.set(entryId, jobId);
          }
          let balanceAfter = 0n;
          for (const { model: _model, ...entry } of (
            await store.listEntries({ accountId, limit: 99, before: null })
          ).toReversed()) {
            balanceAfter += entry.amount;
            for (const id of [entry.id, byJob.get(entry.id) ?? entry.id]) {
              expect(await store.findEntry({ accountId, id })).toEqual({ ...entry, balanceAfter });
              expect(await store.findEntry({ accountId: other.accountId, id })).toBe(null);
            }
          }
        }),
        { numRuns: 5 },
      );
    });

    it('contain every entry once and in order over all pages, while others arrive', async () => {
      const amounts = fc.array(fc.bigInt(0n, 3n), { minLength: 1, maxLength: 3 });
      await fc.assert(
        fc.asyncProperty(timesArbitrary, limitsArbitrary, amounts, async (times, limits, amounts) => {
          const owner = await addAccount(store, { balance: 0n });
          const entries = await Promise.all(
            times.map(async (time, index) => {
              const amount = amounts[index % amounts.length] ?? 0n;
              return { id: await adjust(owner, start + time, amount), createdAt: start + time, amount };
            }),
          );
          const pages = await allPages({
            list: (input) => store.listEntries({ accountId: owner.accountId, ...input }),
            limits,
            meanwhile: () => adjust(owner, start + 10, 1n),
          });
          expect(idsOf(pages)).toEqual(idsOf(entries.filter(({ amount }) => amount > 0n).sort(newestFirst)));
        }),
        { numRuns: 15 },
      );
    });
  });
});

describe.each(testEngines())('idempotency keys by themselves on $kind', ({ create }) => {
  let data: TestStore;
  let store: Store;
  beforeAll(async () => {
    data = await create();
    ({ store } = data);
  });
  afterAll(() => data.remove());

  it('are looked up as `openJob` would, and no job is opened', async () => {
    const owner = await addAccount(store);
    const { accountId } = owner;
    const idempotency = idempotencyKey('k', { expiresAt: start + 10 });
    const look = ({
      accountId: of = accountId,
      now = start + 9,
      ...changes
    }: { accountId?: string; now?: number; bodyHash?: string; endpoint?: string } = {}) =>
      store.findReplay({ accountId: of, idempotency: { ...idempotency, ...changes }, payment: null, now });
    expect(await look()).toBeNull();
    const id = await openJob(store, opening(runningJob(owner), { idempotency }));
    const job = await store.getJob({ id, accountId });
    expect(await look()).toEqual({ outcome: 'replayed', job });
    expect(await look({ bodyHash: 'body-2' })).toEqual({ outcome: 'conflict' });
    expect(await look({ now: start + 10 })).toBeNull();
    expect(await look({ endpoint: 'POST /v1/responses' })).toBeNull();
    expect(await look({ accountId: (await addAccount(store)).accountId })).toBeNull();
    await store.finishJob(finishing(id));
    expect(await look()).toMatchObject({ outcome: 'replayed', job: { id, status: 'done', charged: 60n } });
  });

  it('are swept in batches when they expire, and their jobs stay', async () => {
    const fresh = await create();
    try {
      const owner = await addAccount(fresh.store, { balance: 1_000n });
      const ids: string[] = [];
      for (const [index, expiresAt] of [10, 11, 12, 13].entries()) {
        const idempotency = idempotencyKey(`k${index}`, { expiresAt: start + expiresAt });
        ids.push(await openJob(fresh.store, opening(runningJob(owner), { idempotency })));
      }
      const sweep = () => fresh.store.sweepIdempotencyKeys({ now: start + 12, limit: 2 });
      expect([await sweep(), await sweep(), await sweep()]).toEqual([2, 1, 0]);
      expect(await fresh.sql('select job_id from idempotency_keys')).toMatchObject([{ job_id: ids[3] }]);
      expect(await fresh.store.listJobs({ accountId: owner.accountId, limit: 9, before: null })).toHaveLength(
        4,
      );
    } finally {
      await fresh.remove();
    }
  });
});
