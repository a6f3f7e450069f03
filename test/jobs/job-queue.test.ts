import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Executor } from '../../src/jobs/executor.ts';
import { leaseMs } from '../../src/jobs/job-queue.ts';
import { createJobRunner, type JobRunner, type JobRunnerOptions } from '../../src/jobs/job-runner.ts';
import { silentLog } from '../../src/kit/log.ts';
import { StoreError } from '../../src/store/store-error.ts';
import { createRunImage } from '../../src/operations/images/run-image.ts';
import { ProviderError } from '../../src/providers/provider-error.ts';
import { createRetryBudget, createRouteBreaker } from '../../src/providers/route-attempts.ts';
import { createImageRouter } from '../../src/providers/router.ts';
import type { Job, NewJob, Store } from '../../src/store/store.ts';
import {
  addAccount,
  opening,
  openJob,
  openWithJob,
  queuedJob,
  runningJob,
  start,
  type Owner,
} from '../store/builders.ts';
import { testEngines, type TestStore } from '../store/open-test-store.ts';

const done = { status: 'done' as const, result: ['made'], charge: 40n, media: [], metadata: {} };

describe.each(testEngines())('the queue of a process on $kind', ({ create }) => {
  let data: TestStore;
  let store: Store;
  let owner: Owner;
  let runner: JobRunner;
  let time: number;
  const clock = { now: () => time };

  beforeEach(async () => {
    data = await create();
    ({ store } = data);
    owner = await addAccount(store);
    time = start;
  });
  afterEach(async () => {
    await runner.drain(0);
    await data.remove();
  });

  const createRunner = (image: Executor, more: Partial<JobRunnerOptions> = {}): void => {
    const concurrency = { image: 4 };
    runner = createJobRunner({ store, clock, log: silentLog, executors: { image }, concurrency, ...more });
  };
  const queue = (changes: Partial<NewJob> = {}, by = owner): Promise<string> =>
    openJob(store, opening(queuedJob(by, { deadlineAt: start + 600_000, ...changes }), { now: time }));
  const read = (id: string, { accountId } = owner): Promise<Job | null> => store.getJob({ id, accountId });
  const statusOf = (id: string, by = owner) =>
    expect.poll(async () => (await read(id, by))?.status, { timeout: 60_000 });

  describe('while every route of a SKU rests', () => {
    let calls: string[];
    let isBusy: boolean;
    let createImageRunner: (beatMs: number) => void;
    beforeEach(() => {
      calls = [];
      isBusy = true;
      const routeOf = (model: string) => ({
        provider: 'up',
        model,
        isSandbox: false,
        breaker: createRouteBreaker(clock),
        budget: createRetryBudget(),
        source: {
          generate: async () => {
            calls.push(model);
            const limit = { failure: 'retry_same', code: 'rate_limit_exceeded' } as const;
            if (isBusy && model === 'busy')
              throw new ProviderError('429', { ...limit, retryAfterMs: 20_000 });
            if (model === 'tight')
              throw new ProviderError('too large', { failure: 'retry_other', code: 'invalid_parameter' });
            return { bytes: Buffer.from('made'), contentType: 'image/png', revisedPrompt: null };
          },
        },
      });
      const skus = { busy: ['busy'], free: ['free'], large: ['tight', 'busy'] };
      const routers = new Map(
        Object.entries(skus).map(([sku, models]) => [
          sku,
          createImageRouter(models.map(routeOf), { clock, log: silentLog }),
        ]),
      );
      const image = createRunImage({
        routesFor: (sku) => routers.get(sku)!,
        costOf: () => null,
        readInput: () => Promise.resolve(null),
        saveResult: ({ role, contentType }) =>
          Promise.resolve({ id: crypto.randomUUID(), role, contentType, sizeBytes: 4, url: 'unused' }),
        keepMs: 1,
        memoryBytes: 1,
        log: silentLog,
      });
      const runnable = () => ({
        skus: [...routers].filter(([, { restMs }]) => restMs() <= 0).map(([sku]) => sku),
        providers: [],
      });
      let returns = 0;
      const returnJob: Store['returnJob'] = async (job) => {
        returns += 1;
        if (returns === 1) throw new StoreError('unavailable', 'the store is away for a moment');
        return store.returnJob(job);
      };
      createImageRunner = (beatMs) =>
        createRunner(image, { runnable, beatMs, settleMs: 0, store: { ...store, returnJob } });
      createImageRunner(20);
    });
    const request = JSON.stringify({ prompt: 'a fox', aspectRatio: 'auto', priceUsd: '0.00000004' });
    const order = (model: string) => ({ model, request });

    it('its jobs wait in the queue, also the one that was told so, and others are made', async () => {
      const ids = [await queue(order('busy'))];
      runner.begin();
      await expect.poll(() => calls).toEqual(['busy']);
      await statusOf(ids[0]!).toBe('queued');
      for (let count = 0; count < 3; count += 1) ids.push(await queue(order('busy')));
      await statusOf(await queue(order('free'))).toBe('done');
      for (const id of ids) expect(await read(id)).toMatchObject({ status: 'queued', attempts: 0 });
      expect(calls).toEqual(['busy', 'free']);

      isBusy = false;
      time += 20_000;
      // A new job wakes the queue.
      ids.push(await queue(order('busy')));
      for (const id of ids) await statusOf(id).toBe('done');
      for (const id of ids) expect(await read(id)).toMatchObject({ attempts: 1, charged: 40n });
    });

    it('a job that the only route without a rest cannot serve asks it no second time at once', async () => {
      createImageRunner(60_000);
      const id = await queue(order('large'));
      runner.begin();
      await expect.poll(() => calls).toEqual(['tight', 'busy']);
      await statusOf(await queue(order('free'))).toBe('done');
      await runner.drain(60_000);
      expect(await read(id)).toMatchObject({ status: 'queued', attempts: 0 });
      expect(calls).toEqual(['tight', 'busy', 'free']);
    });

    it('a job that waited until its deadline ends as one that nobody could serve', async () => {
      const id = await queue(order('busy'));
      runner.begin();
      await expect.poll(() => calls).toEqual(['busy']);
      await statusOf(id).toBe('queued');
      time += 600_000;
      await statusOf(id).toBe('failed');
      expect(await read(id)).toMatchObject({ charged: 0n, error: { code: 'upstream_unavailable' } });
    });

    it('a job that somebody waits for fails at once, uncharged', async () => {
      const open = async (): Promise<Job> => {
        const job = runningJob(owner, { kind: 'image', leaseOwner: runner.owner, ...order('busy') });
        const opened = await openWithJob(store, opening(job));
        if (opened.outcome !== 'opened') throw new Error(opened.outcome);
        return runner.start(opened.job).finished;
      };
      const failed = { status: 'failed', charged: 0n };
      expect(await open()).toMatchObject({ ...failed, error: { code: 'rate_limit_exceeded' } });
      expect(await open()).toMatchObject({ ...failed, error: { code: 'upstream_unavailable' } });
      expect(calls).toEqual(['busy']);
    });
  });

  it('a gateway whose clock is ahead ends only those jobs of another that are dead by the clock of the database', async () => {
    const job = runningJob(owner, { kind: 'image', leaseOwner: 'other', leaseUntil: time + leaseMs });
    const id = await openJob(store, opening(job));
    const aheadMs = leaseMs + 10_000;
    let pings = 0;
    const ping = async (): Promise<number> => {
      pings += 1;
      return aheadMs;
    };
    time += aheadMs;
    createRunner(async () => done, { beatMs: 10, settleMs: 0, store: { ...store, ping } });
    runner.begin();
    await expect.poll(() => pings).toBeGreaterThan(3);
    expect(await read(id)).toMatchObject({ status: 'running', leaseOwner: 'other' });
    time += leaseMs + 1;
    await statusOf(id).toBe('failed');
  });

  it('a gateway whose clock is behind has leases by the clock of the database, from the first job on', async () => {
    const behindMs = leaseMs + 10_000;
    const ping = async (): Promise<number> => -behindMs;
    const running = Promise.withResolvers<void>();
    createRunner(() => running.promise.then(() => done), { store: { ...store, ping } });
    const id = await queue();
    runner.begin();
    await statusOf(id).toBe('running');
    expect(await read(id)).toMatchObject({ leaseUntil: start + behindMs + leaseMs });
    expect(runner.newLease()).toEqual({ leaseOwner: runner.owner, leaseUntil: start + behindMs + leaseMs });
    running.resolve();
    await statusOf(id).toBe('done');
  });

  describe('with four lanes', () => {
    let started: string[];
    let finish: () => void;
    beforeEach(() => {
      started = [];
      const finished = Promise.withResolvers<void>();
      finish = finished.resolve;
      createRunner(async ({ accountId }) => {
        started.push(accountId);
        await finished.promise;
        return done;
      });
    });

    it('leaves a quarter of them to others, and runs all jobs in the end', async () => {
      const others = [await addAccount(store), await addAccount(store)];
      const ids = [await queue(), await queue(), await queue(), await queue(), await queue()];
      runner.begin();
      const three = Array.from({ length: 3 }, () => owner.accountId);
      await expect.poll(() => started).toEqual(three);
      const [first, second] = others.map(({ accountId }) => accountId);
      const late = [await queue({}, others[0])];
      await expect.poll(() => started).toEqual([...three, first]);
      late.push(await queue({}, others[1]));
      await statusOf(late[1]!, others[1]).toBe('queued');
      finish();
      for (const id of ids) await statusOf(id).toBe('done');
      for (const [index, id] of late.entries()) await statusOf(id, others[index]).toBe('done');
      expect(started).toContain(second);
    });
  });
});
