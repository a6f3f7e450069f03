import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { KeySum, Store, TagSum, UsageSum } from '../../src/store/store.ts';
import {
  addAccount,
  assertSoundBooks,
  finishing,
  opening,
  openJob,
  queuedJob,
  runningJob,
  start,
  type Owner,
} from './builders.ts';
import { testEngines, type TestStore } from './open-test-store.ts';

const day = 86_400_000;

type Amounts = Pick<UsageSum, 'jobs' | 'charged' | 'refunded'>;

/** Adds rows up by group. A row for a group that has one already is added to it. */
const addUp = <Row extends Amounts>(
  rows: readonly Row[],
  groupOf: (row: Row) => string,
): Map<string, Amounts> => {
  const sums = new Map<string, Amounts>();
  for (const row of rows) {
    const { jobs, charged, refunded } = sums.get(groupOf(row)) ?? { jobs: 0, charged: 0n, refunded: 0n };
    sums.set(groupOf(row), {
      jobs: jobs + row.jobs,
      charged: charged + row.charged,
      refunded: refunded + row.refunded,
    });
  }
  return sums;
};

describe.each(testEngines())('sums of use on $kind', ({ create }) => {
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
  const addSecondKey = async ({ accountId }: Owner): Promise<Owner> => {
    const id = randomUUID();
    await store.createKey({ id, accountId, hash: id, display: 'k', label: 'second', now: start });
    return { accountId, keyId: id };
  };

  const sums = async (owner: Owner, from: number, to: number): Promise<UsageSum[]> =>
    (await store.sumUsage({ accountId: owner.accountId, from, to })).groups;
  const today = Math.floor(start / day);
  const midnight = (today + 1) * day;

  it('are empty for an account without jobs', async () => {
    expect(await sums(await addAccount(store), 0, start + day)).toEqual([]);
  });

  it('are grouped by model, kind, status and UTC day of creation', async () => {
    const owner = await addAccount(store);
    const finish = (id: string, charge: bigint) =>
      store.finishJob(finishing(id, { charge, now: midnight + 5 }));
    await finish(await open(owner, start, 100n), 60n);
    await finish(await open(owner, midnight - 1, 100n), 30n);
    await finish(await open(owner, midnight, 100n), 20n);
    await open(owner, midnight, 100n);
    await openJob(store, opening(queuedJob(owner, { model: 'imagemodel-1.0' }), { now: midnight }));
    const chat = { model: 'textmodel-3.5-flash', kind: 'chat', status: 'done', refunded: 0n };
    expect(await sums(owner, start, midnight + 1)).toEqual([
      { ...chat, day: today, jobs: 2, charged: 90n },
      {
        ...chat,
        model: 'imagemodel-1.0',
        kind: 'image',
        status: 'queued',
        day: today + 1,
        jobs: 1,
        charged: 0n,
      },
      { ...chat, day: today + 1, jobs: 1, charged: 20n },
      { ...chat, status: 'running', day: today + 1, jobs: 1, charged: 0n },
    ]);
  });

  it('include the first moment and exclude the last', async () => {
    const owner = await addAccount(store);
    for (const time of [9, 10, 11, 20]) await open(owner, start + time);
    expect(await sums(owner, start + 10, start + 20)).toMatchObject([{ jobs: 2 }]);
    expect(await sums(owner, start + 20, start + 10)).toEqual([]);
  });

  it('are exact beyond the range of a float', async () => {
    const huge = 2n ** 53n + 1n;
    const owner = await addAccount(store, { balance: 3n * huge });
    for (const refund of [1n, huge, huge]) {
      const jobId = await open(owner, start, huge);
      await store.finishJob(finishing(jobId, { charge: huge }));
      await store.refundJob({ entryId: randomUUID(), jobId, amount: refund, note: null, now: start });
    }
    expect(await sums(owner, start, start + 1)).toMatchObject([
      { jobs: 3, charged: 3n * huge, refunded: 2n * huge + 1n },
    ]);
  });

  it('of a time from any moment to any other equal those of its single jobs', async () => {
    const moment = fc.oneof(fc.nat(4 * day), fc.constantFrom(0, day, 2 * day, 3 * day));
    const jobArbitrary = fc.record({
      at: fc.nat(4 * day),
      kind: fc.constantFrom('chat' as const, 'video' as const),
      model: fc.constantFrom('a', 'b'),
      isSecondKey: fc.boolean(),
      usageTag: fc.constantFrom(null, 'one', 'other'),
      charge: fc.option(fc.bigInt(0n, 50n)),
      refund: fc.option(fc.bigInt(1n, 50n)),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(jobArbitrary, { maxLength: 25 }),
        moment,
        moment,
        async (jobs, one, other) => {
          const owner = await addAccount(store, { balance: 10_000n });
          const second = await addSecondKey(owner);
          const begin = Math.floor(start / day) * day;
          await Promise.all(
            jobs.map(async ({ at, kind, model, isSecondKey, usageTag, charge, refund }) => {
              const job = runningJob(isSecondKey ? second : owner, { kind, model, usageTag });
              const jobId = await openJob(store, opening(job, { hold: 50n, now: begin + at }));
              if (charge === null) return;
              await store.finishJob(finishing(jobId, { charge, now: begin + at + day }));
              if (refund === null) return;
              await store.refundJob({ entryId: randomUUID(), jobId, amount: refund, note: null, now: start });
            }),
          );
          const from = begin + Math.min(one, other);
          const to = begin + Math.max(one, other);
          const all = await store.listJobs({ accountId: owner.accountId, limit: 99, before: null });
          const tags = new Map(
            await Promise.all(
              all.map(async ({ id }) => [id, (await store.getJobOfAny(id))?.usageTag ?? ''] as const),
            ),
          );
          const single = all.filter(({ createdAt }) => createdAt >= from && createdAt < to);
          const seen = await store.sumUsage({ accountId: owner.accountId, from, to });
          const groupOf = (job: Pick<UsageSum, 'model' | 'kind' | 'status' | 'day'>): string =>
            [job.model, job.kind, job.status, job.day].join(' ');
          expect(addUp(seen.groups, groupOf)).toEqual(
            addUp(
              single.map((job) => ({ ...job, jobs: 1, day: Math.floor(job.createdAt / day) })),
              groupOf,
            ),
          );
          const keyOf = (job: Pick<KeySum, 'keyId' | 'status'>): string => [job.keyId, job.status].join(' ');
          expect(addUp(seen.keys, keyOf)).toEqual(
            addUp(
              single.map((job) => ({ ...job, jobs: 1 })),
              keyOf,
            ),
          );
          const tagOf = (job: Pick<TagSum, 'tag' | 'status'>): string => [job.tag, job.status].join(' ');
          expect(addUp(seen.tags, tagOf)).toEqual(
            addUp(
              single.map((job) => ({ ...job, jobs: 1, tag: tags.get(job.id) ?? '' })),
              tagOf,
            ),
          );
          await assertSoundBooks(store);
        },
      ),
      { numRuns: 25 },
    );
  });
});
