import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Job, NewJob, Store } from '../../src/store/store.ts';
import {
  addAccount,
  deadJobError,
  finishing,
  opening,
  openJob,
  queuedJob,
  runningJob,
  start,
} from './builders.ts';
import { testEngines, type TestStore } from './open-test-store.ts';

type Made = Pick<NewJob, 'id' | 'accountId' | 'keyId' | 'kind' | 'model' | 'usageTag'> &
  Pick<Job, 'status' | 'createdAt'>;

const kinds = ['chat', 'image'] as const;
const models = ['model-a', 'model-b'];
const statuses = ['queued', 'running', 'done', 'failed'] as const;

describe.each(testEngines())('the search for jobs on $kind', ({ create }) => {
  let data: TestStore;
  let store: Store;
  let accountIds: string[] = [];
  const made: Made[] = [];

  beforeAll(async () => {
    data = await create();
    ({ store } = data);
    const owners = [
      await addAccount(store, { balance: 10_000n }),
      await addAccount(store, { balance: 10_000n }),
    ];
    accountIds = owners.map(({ accountId }) => accountId);
    for (const [place, owner] of [...owners, ...owners].entries())
      for (const kind of kinds)
        for (const model of models)
          for (const status of statuses) {
            // Several have the same time, so the id decides.
            const createdAt = start + place * 10;
            const usageTag = place % 2 === 0 ? 'shop' : null;
            const job = (status === 'queued' ? queuedJob : runningJob)(owner, { kind, model, usageTag });
            await openJob(store, opening(job, { now: createdAt }));
            if (status === 'done') await store.finishJob(finishing(job.id));
            if (status === 'failed')
              await store.finishJob(finishing(job.id, { status, error: deadJobError, charge: 0n }));
            made.push({ ...job, status, createdAt });
          }
    made.sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1));
  });
  afterAll(() => data.remove());

  type Search = Omit<Parameters<Store['searchJobs']>[0], 'before'>;

  const readAll = async (search: Search): Promise<string[]> => {
    const ids: string[] = [];
    for (let before: Parameters<Store['searchJobs']>[0]['before'] = null; ;) {
      const { jobs, next } = await store.searchJobs({ ...search, before });
      expect(jobs.length).toBeLessThanOrEqual(search.limit);
      ids.push(...jobs.map(({ id }) => id));
      if (next === null) return ids;
      before = next;
    }
  };

  it('finds the jobs of every choice of filters, page by page, newest first', async () => {
    for (const accountId of [undefined, ...accountIds])
      for (const kind of [undefined, ...kinds])
        for (const model of [undefined, models[0]])
          for (const status of [undefined, ...statuses])
            for (const from of [undefined, start + 10]) {
              const wanted = made.filter(
                (job) =>
                  (accountId ?? job.accountId) === job.accountId &&
                  (kind ?? job.kind) === job.kind &&
                  (model ?? job.model) === job.model &&
                  (status ?? job.status) === job.status &&
                  job.createdAt >= (from ?? 0),
              );
              const search = { accountId, kind, model, status, from };
              expect(await readAll({ ...search, limit: 3 })).toEqual(wanted.map(({ id }) => id));
            }
  });

  it('finds the jobs of a key, of a tag, and before a time, also beyond the first page', async () => {
    const [{ keyId }] = made as [Made];
    const to = start + 20;
    for (const [search, isWanted] of [
      [{ keyId }, (job: Made) => job.keyId === keyId],
      [{ usageTag: 'shop' }, (job: Made) => job.usageTag === 'shop'],
      [{ to }, (job: Made) => job.createdAt < to],
      [
        { accountId: made[0]?.accountId, keyId, to },
        (job: Made) => job.keyId === keyId && job.createdAt < to,
      ],
    ] as const) {
      const wanted = made.filter(
        (job) => isWanted(job) && job.accountId === (search.accountId ?? job.accountId),
      );
      expect(wanted.length).toBeGreaterThan(3);
      expect(await readAll({ ...search, limit: 3 })).toEqual(wanted.map(({ id }) => id));
    }
  });

  it('finds none of the very time before which it looks, also from a place among these', async () => {
    const { next } = await store.searchJobs({ before: null, limit: 3 });
    const to = next?.createdAt ?? 0;
    expect(made.filter(({ createdAt }) => createdAt === to).length).toBeGreaterThan(3);
    const { jobs } = await store.searchJobs({ to, before: next, limit: made.length });
    expect(jobs.map(({ id }) => id)).toEqual(
      made.filter(({ createdAt }) => createdAt < to).map(({ id }) => id),
    );
  });

  it('says that nothing follows after a page that is just full', async () => {
    const { jobs, next } = await store.searchJobs({ before: null, limit: made.length });
    expect([jobs.length, next]).toEqual([made.length, null]);
  });

  it('finds nothing for a model that nobody used', async () => {
    const none = { jobs: [], next: null };
    expect(await store.searchJobs({ model: 'model-c', before: null, limit: 3 })).toEqual(none);
    expect(await store.searchJobs({ model: 'model-c', status: 'done', before: null, limit: 3 })).toEqual(
      none,
    );
  });

  it('reads a job of any account by its id alone', async () => {
    const [{ id, accountId }] = made as [Made];
    expect(await store.getJobOfAny(id)).toEqual(await store.getJob({ id, accountId }));
    expect(await store.getJobOfAny('nothing')).toBeNull();
  });
});
