import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newId } from '../../src/kit/ids.ts';
import type { Executor } from '../../src/jobs/executor.ts';
import { leaseMs } from '../../src/jobs/job-queue.ts';
import { createJobRunner, type JobRunner } from '../../src/jobs/job-runner.ts';
import { credit } from '../../src/accounts/ledger/entries.ts';
import { silentLog } from '../../src/kit/log.ts';
import { LeaseLostError } from '../../src/kit/repeat.ts';
import type { Job, NewJob, Store } from '../../src/store/store.ts';
import { createAccount, openWithJob } from '../store/builders.ts';
import { testEngines, type TestStore } from '../store/open-test-store.ts';
import { issueKey } from '../../src/accounts/keys.ts';

const never = new AbortController().signal;
const hold = 1_000n;
const done = { status: 'done' as const, result: ['made'], charge: 400n, media: [], metadata: {} };

describe.each(testEngines())('jobs on $kind', ({ create }) => {
  let testStore: TestStore;
  let store: Store;
  let accountId: string;
  let keyId: string;
  let now: number;
  let runners: JobRunner[];
  const clock = { now: () => now };

  beforeEach(async () => {
    testStore = await create();
    ({ store } = testStore);
    now = Date.now();
    runners = [];
    const account = await createAccount({ store, clock }, { name: 'tests', status: 'active' });
    const issued = await issueKey({ store, clock }, { accountId: account.id, label: '', brand: 'causeway' });
    if (issued.outcome !== 'issued') throw new Error('no key');
    accountId = account.id;
    keyId = issued.apiKey.id;
    await credit({ store, clock }, { accountId, amount: 10_000n, reason: 'tests' });
  });

  afterEach(async () => {
    for (const runner of runners) await runner.drain(0);
    await testStore.remove();
  });

  const runnerOf = (
    image: Executor,
    concurrency = 2,
    more: Partial<Parameters<typeof createJobRunner>[0]> = {},
  ): JobRunner => {
    const runner = createJobRunner({
      store,
      settleMs: 0,
      ...more,
      clock,
      log: silentLog,
      executors: { image, chat: image },
      concurrency: { image: concurrency, chat: concurrency },
    });
    runners.push(runner);
    return runner;
  };

  const open = async (more: Partial<NewJob> = {}): Promise<Job> => {
    const opened = await openWithJob(store, {
      job: {
        id: newId(),
        accountId,
        keyId,
        kind: 'image',
        model: 'imagemodel-1.0',
        status: 'queued',
        leaseOwner: null,
        leaseUntil: null,
        maxAttempts: 2,
        deadlineAt: now + 600_000,
        request: '{}',
        customData: null,
        parameters: null,
        webhookUrl: null,
        usageTag: null,
        isBudgeted: false,
        ...more,
      },
      hold,
      idempotency: null,
      activeLimit: null,
      inputs: [],
      now,
    });
    if (opened.outcome !== 'opened') throw new Error(opened.outcome);
    return opened.job;
  };

  const openInteractive = (runner: JobRunner): Promise<Job> =>
    open({
      kind: 'chat',
      status: 'running',
      leaseOwner: runner.owner,
      leaseUntil: now + leaseMs,
      maxAttempts: 1,
    });

  const ended = (runner: JobRunner, job: Job): Promise<Job> =>
    runner.wait({ job, timeoutMs: 60_000, signal: never });

  it('claims a queued job, runs it and captures its price', async () => {
    const runner = runnerOf(() => Promise.resolve(done));
    runner.begin();
    const job = await ended(runner, await open());
    expect(job).toMatchObject({ status: 'done', result: '["made"]', charged: 400n, holdState: 'captured' });
    expect(await store.getAccount(accountId)).toMatchObject({ balance: 9_600n, held: 0n });
  });

  it('ends a job that throws as an uncharged server error, and does not show the fault', async () => {
    const runner = runnerOf(() => Promise.reject(new Error('secret at /srv/x.ts')));
    runner.begin();
    const job = await ended(runner, await open());
    expect(job).toMatchObject({
      status: 'failed',
      charged: 0n,
      holdState: 'released',
      error: { code: 'server_error' },
    });
    expect(JSON.stringify(job.error)).not.toContain('secret');
  });

  it('tells in the webhook event of the end what progress was recorded', async () => {
    const runner = runnerOf(
      async (_job, { record }) => {
        await record({ progress: 40 });
        await record({ providerTask: 'task-1' });
        throw new Error('no more');
      },
      2,
      { eventBodies: { image: ({ progress }) => ({ progress }) } },
    );
    runner.begin();
    const job = await ended(runner, await open({ webhookUrl: 'https://shop.example/hook' }));
    const [event] = await store.listWebhooks({ accountId, jobId: job.id, limit: 1 });
    expect([job.progress, JSON.parse(event?.body ?? '{}')]).toEqual([
      40,
      { event_id: event?.id, progress: 40 },
    ]);
  });

  it('passes work to a started job, and none to a claimed one', async () => {
    const works: unknown[] = [];
    const runner = runnerOf((_job, { work }) => {
      works.push(work);
      return Promise.resolve(done);
    });
    const work = { messages: ['never stored'] };
    await runner.start(await openInteractive(runner), work).finished;
    runner.begin();
    await ended(runner, await open());
    expect(works).toEqual([work, undefined]);
    expect(works[0]).toBe(work);
  });

  it('shares the queue with another runner without doing anything twice', async () => {
    const starts: string[] = [];
    const execute: Executor = async (job) => {
      starts.push(job.id);
      await new Promise((resolve) => setTimeout(resolve, 5));
      return done;
    };
    const [first, second] = [runnerOf(execute), runnerOf(execute)];
    const jobs = await Promise.all(Array.from({ length: 8 }, () => open()));
    first.begin();
    second.begin();
    for (const job of jobs) expect((await ended(first, job)).status).toBe('done');
    expect(starts.toSorted()).toEqual(jobs.map(({ id }) => id).toSorted());
    expect(await store.getAccount(accountId)).toMatchObject({ balance: 10_000n - 8n * 400n, held: 0n });
  });

  it('claims a queued job again if its worker died, and fails it when no attempts are left', async () => {
    const dead = await open();
    for (const _attempt of [1, 2]) {
      await store.claimJobs({ owner: 'dead', kind: 'image', limit: 1, leaseUntil: now + leaseMs, now });
      now += leaseMs + 1;
      if (_attempt === 1)
        await store.reapJobs({ owner: 'reaper', leaseUntil: now + leaseMs, now, limit: 10 });
    }
    const runner = runnerOf(() => Promise.resolve(done));
    runner.begin();
    const job = await ended(runner, dead);
    expect(job).toMatchObject({ status: 'failed', attempts: 2, charged: 0n, holdState: 'released' });
    expect((await store.checkLedger()).problems).toEqual([]);
  });

  it('is no dead job to its own process, however long a heartbeat takes', async () => {
    let beats = 0;
    const { renewLeases } = store;
    store.renewLeases = async (input) => {
      const held = await renewLeases(input);
      now += leaseMs + 1;
      beats += 1;
      return held;
    };
    const work = () => expect.poll(() => beats).toBeGreaterThan(3);
    const runner = runnerOf(() => work().then(() => done), 2, { beatMs: 10 });
    runner.begin();
    expect(await ended(runner, await open())).toMatchObject({ status: 'done', attempts: 1 });
  });

  it('is not failed by an attempt that lost its lease, as another one may have it', async () => {
    const runner = runnerOf(({ id }) => Promise.reject(new LeaseLostError(id)));
    const job = await openInteractive(runner);
    await expect(runner.start(job).finished).rejects.toThrow(/lease/);
    expect(await store.getJob({ id: job.id, accountId })).toMatchObject({ status: 'running' });
  });

  it('aborts a job whose lease it lost, and leaves its end to the new owner', async () => {
    let abandoned = Promise.resolve();
    const runner = runnerOf((_job, { signal }) => {
      abandoned = new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    });
    const job = await openInteractive(runner);
    const live = runner.start(job);
    now += leaseMs + 1;
    await store.reapJobs({ owner: 'reaper', leaseUntil: now + leaseMs, now, limit: 10 });
    runner.begin();
    await abandoned;
    await expect(live.finished).rejects.toThrow(/lease/);
    now += leaseMs + 1;
    expect(await ended(runner, job)).toMatchObject({ status: 'failed', charged: 0n });
  });

  it('writes the end of a job again after a failure of the store, and charges once', async () => {
    const runner = runnerOf(() => Promise.resolve(done));
    const { finishJob } = store;
    let calls = 0;
    store.finishJob = async (input) => {
      calls += 1;
      if (calls === 1) throw new Error('the connection was lost before the write');
      const outcome = await finishJob(input);
      if (calls === 2) throw new Error('the connection was lost after the write');
      return outcome;
    };
    const finished = await runner.start(await openInteractive(runner)).finished;
    expect(finished).toMatchObject({ status: 'done', charged: 400n });
    expect(await store.getAccount(accountId)).toMatchObject({ balance: 9_600n, held: 0n });
  });

  it('returns the current job to a waiter when the time is over', async () => {
    const runner = runnerOf(
      (_job, { signal }) => new Promise((_resolve, reject) => signal.addEventListener('abort', reject)),
    );
    const job = await openInteractive(runner);
    void runner.start(job).finished.catch(() => undefined);
    expect(await runner.wait({ job, timeoutMs: 20, signal: never })).toMatchObject({ status: 'running' });
  });

  it('treats no job as dead after an outage of the store until every living worker could renew', async () => {
    const leaseUntil = now + leaseMs;
    const living = await open({ kind: 'chat', status: 'running', leaseOwner: 'living', leaseUntil });
    let isDown = true;
    const heard = Promise.withResolvers<void>();
    const reaped = Promise.withResolvers<void>();
    const handle: Store = {
      ...store,
      ping: async () => {
        if (isDown) throw new Error('the store is away');
        heard.resolve();
        return 0;
      },
      reapJobs: async (input) => {
        const answer = await store.reapJobs(input);
        reaped.resolve();
        return answer;
      },
    };
    runnerOf(() => Promise.resolve(done), 2, { store: handle, beatMs: 10, settleMs: 3_000 }).begin();
    now += leaseMs + 1;
    isDown = false;
    await heard.promise;
    const renewed = await store.renewLeases({
      owner: 'living',
      ids: [living.id],
      leaseUntil: now + leaseMs,
    });
    expect(renewed).toEqual([living.id]);
    await reaped.promise;
    expect(await store.getJob({ id: living.id, accountId })).toMatchObject({ status: 'running' });
  });

  it('renews its leases while the end of a dead job cannot be written', async () => {
    const dead = await open({
      kind: 'chat',
      status: 'running',
      leaseOwner: 'dead',
      leaseUntil: now - 1,
      maxAttempts: 1,
    });
    const renewals: (readonly string[])[] = [];
    let isStuck = true;
    const handle: Store = {
      ...store,
      finishJob: (input) =>
        isStuck ? Promise.reject(new Error('the account is locked')) : store.finishJob(input),
      renewLeases: (input) => {
        renewals.push(input.ids);
        return store.renewLeases(input);
      },
    };
    runnerOf(() => Promise.resolve(done), 2, { store: handle, beatMs: 10 }).begin();
    await expect.poll(() => renewals.length).toBeGreaterThan(5);
    expect(renewals.every((ids) => ids.includes(dead.id))).toBe(true);
    isStuck = false;
    await expect
      .poll(async () => (await store.getJob({ id: dead.id, accountId }))?.status, { timeout: 60_000 })
      .toBe('failed');
  });

  it('keeps its own live jobs after a pause of the whole process', async () => {
    let finish = (): void => undefined;
    const runner = runnerOf(async () => {
      await new Promise<void>((resolve) => (finish = resolve));
      return done;
    });
    const job = await openInteractive(runner);
    const { finished } = runner.start(job);
    now += 10 * leaseMs;
    const reaped = Promise.withResolvers<void>();
    const { reapJobs } = store;
    store.reapJobs = async (input) => {
      const outcome = await reapJobs(input);
      reaped.resolve();
      return outcome;
    };
    runner.begin();
    await reaped.promise;
    finish();
    expect(await finished).toMatchObject({ status: 'done', charged: 400n });
  });

  it('leaves a job with attempts left to the next process when the drain is over', async () => {
    const untilAborted: Executor = (_job, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    const runner = runnerOf(untilAborted);
    const again = await open({ status: 'running', leaseOwner: runner.owner, leaseUntil: now + leaseMs });
    const once = await openInteractive(runner);
    void runner.start(again).finished.catch(() => undefined);
    void runner.start(once).finished.catch(() => undefined);
    await runner.drain(10);
    expect(runner.isDraining()).toBe(true);
    expect(await store.getJob({ id: again.id, accountId })).toMatchObject({
      status: 'queued',
      leaseOwner: null,
      holdState: 'open',
    });
    expect(await store.getJob({ id: once.id, accountId })).toMatchObject({
      status: 'failed',
      holdState: 'released',
    });
    now += leaseMs + 1;
    const next = runnerOf(() => Promise.resolve(done));
    next.begin();
    expect(await ended(next, again)).toMatchObject({ status: 'done', charged: 400n, attempts: 2 });
  });

  it('drains: stops claiming and waits for running jobs', async () => {
    let finish = (): void => undefined;
    const started = Promise.withResolvers<void>();
    const runner = runnerOf(async () => {
      started.resolve();
      await new Promise<void>((resolve) => (finish = resolve));
      return done;
    }, 1);
    const first = await open();
    runner.begin();
    await started.promise;
    const drained = runner.drain(20_000);
    const second = await open();
    finish();
    await drained;
    expect(await store.getJob({ id: first.id, accountId })).toMatchObject({ status: 'done' });
    expect(await store.getJob({ id: second.id, accountId })).toMatchObject({ status: 'queued' });
  });
});
