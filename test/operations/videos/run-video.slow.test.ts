import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { leaseMs } from '../../../src/jobs/job-queue.ts';
import { createJobRunner, type JobRunner } from '../../../src/jobs/job-runner.ts';
import {
  createRunVideo,
  videoKeepMs,
  type VideoJobRequest,
} from '../../../src/operations/videos/run-video.ts';
import { currentPurpose } from '../../../src/kit/call-purpose.ts';
import { silentLog } from '../../../src/kit/log.ts';
import { formatUsd } from '../../../src/kit/money.ts';
import type { Moderator } from '../../../src/providers/provider.ts';
import { ProviderError } from '../../../src/providers/provider-error.ts';
import type { RoutedVideo, StartedVideo, VideoTaskHandle } from '../../../src/providers/router.ts';
import type { VideoReport } from '../../../src/providers/video/video-provider.ts';
import { pause } from '../../../src/kit/repeat.ts';
import type { Job, Store } from '../../../src/store/store.ts';
import { videoInput } from '../../providers/video/video-builders.ts';
import { addAccount, opening, openWithJob, queuedJob, type Owner } from '../../store/builders.ts';
import { testEngines, type TestStore } from '../../store/open-test-store.ts';

const never = new AbortController().signal;
const price = 300_000_000n;
const broken = (failure: 'retry_same' | 'fatal'): ProviderError =>
  new ProviderError('the upstream is out', { failure, code: 'upstream_error' });

/** An upstream that finishes a task when told to. */
interface Upstream {
  calls: { started: number; fetched: number };
  report: () => VideoReport;
  start: (signal: AbortSignal) => Promise<string>;
  beforeFetch: () => void;
  routesFor: () => Pick<RoutedVideo, 'start'>;
  resume: (started: StartedVideo) => VideoTaskHandle;
}

const createUpstream = (): Upstream => {
  const calls = { started: 0, fetched: 0 };
  const upstream: Upstream = {
    calls,
    report: () => ({ state: 'done' }),
    start: () => Promise.resolve('task-1'),
    beforeFetch: () => undefined,
    routesFor: () => ({
      start: async (_request, { signal }) => {
        calls.started += 1;
        return { provider: 'p', model: 'm', task: await upstream.start(signal), isSandbox: true };
      },
    }),
    resume: ({ task }) => ({
      report: () => Promise.resolve().then(() => upstream.report()),
      fetch: (part) => {
        calls.fetched += 1;
        return Promise.resolve().then(() => {
          upstream.beforeFetch();
          return {
            contentType: part === 'video' ? 'video/mp4' : 'image/png',
            body: (async function* () {
              yield await Promise.resolve(Buffer.from(`${part} of ${task}`));
            })(),
          };
        });
      },
    }),
  };
  return upstream;
};

describe.each(testEngines())('video jobs on $kind', ({ create }) => {
  let testStore: TestStore;
  let store: Store;
  let owner: Owner;
  let now: number;
  let upstream: Upstream;
  let runners: JobRunner[];
  let saved: string[];
  let beforeSave: () => void;
  let moderator: Moderator | null;
  const clock = { now: () => now };

  beforeEach(async () => {
    testStore = await create();
    ({ store } = testStore);
    owner = await addAccount(store, { balance: 10_000_000_000n });
    now = Date.now();
    upstream = createUpstream();
    runners = [];
    saved = [];
    beforeSave = () => undefined;
    moderator = null;
  });

  afterEach(async () => {
    for (const runner of runners) await runner.drain(0);
    await testStore.remove();
  });

  const beginRunner = (): JobRunner => {
    const video = createRunVideo({
      costOf: () => null,
      routesFor: () => upstream.routesFor(),
      resume: upstream.resume,
      openInput: ({ role, contentType }) => videoInput(role, contentType),
      moderator,
      saveResult: async ({ role, contentType, source }) => {
        beforeSave();
        const chunks: Uint8Array[] = [];
        for await (const chunk of source instanceof Uint8Array ? [source] : source) chunks.push(chunk);
        const text = Buffer.concat(chunks).toString();
        saved.push(text);
        return { id: `${role}${saved.length}`, role, contentType, sizeBytes: text.length, url: 'unused' };
      },
      store,
      clock,
      log: silentLog,
    });
    const runner = createJobRunner({
      store,
      clock,
      log: silentLog,
      executors: { video },
      concurrency: { video: 10 },
      resumable: ['video'],
      settleMs: 0,
    });
    runners.push(runner);
    runner.begin();
    return runner;
  };

  const open = async (
    returnLastFrame = false,
    inputs: VideoJobRequest['inputs'] = [],
    nsfwCheck = false,
  ): Promise<Job> => {
    const work: VideoJobRequest = {
      request: {
        prompt: 'a harbour at dawn',
        seed: null,
        durationSeconds: 5,
        resolution: '720p',
        ratio: '16:9',
        generateAudio: true,
        nsfwCheck,
        returnLastFrame,
        outputFormat: 'mp4',
      },
      inputs,
      priceUsd: formatUsd(price),
    };
    const job = queuedJob(owner, {
      kind: 'video',
      maxAttempts: 100,
      deadlineAt: now + 3_600_000,
      request: JSON.stringify(work),
    });
    const opened = await openWithJob(store, opening(job, { hold: price, now }));
    if (opened.outcome !== 'opened') throw new Error(opened.outcome);
    return opened.job;
  };

  const end = (runner: JobRunner, job: Job): Promise<Job> =>
    runner.wait({ job, timeoutMs: 60_000, signal: never });

  it('makes a video, keeps it for 23 hours from its end and charges the frozen price', async () => {
    const job = await end(beginRunner(), await open(true));
    expect(job).toMatchObject({ status: 'done', charged: price, result: '{"has_last_frame":true}' });
    const media = await store.listMedia(job.id);
    expect(media.map(({ role, contentType }) => [role, contentType])).toEqual([
      ['video', 'video/mp4'],
      ['last_frame', 'image/png'],
    ]);
    for (const { expiresAt } of media) expect(expiresAt).toBe((job.finishedAt ?? 0) + videoKeepMs);
    expect(saved).toEqual(['video of task-1', 'last_frame of task-1']);
  });

  it('asks for a video that it began, and only begins as work that may be paid for', async () => {
    const asked: unknown[] = [];
    const note = (step: string): void => void asked.push([step, currentPurpose().isQuestion === true]);
    upstream.start = async () => (note('start'), 'task-1');
    upstream.report = () => (note('report'), { state: 'done' });
    upstream.beforeFetch = () => note('fetch');
    await end(beginRunner(), await open());
    expect(asked).toEqual([
      ['start', false],
      ['report', true],
      ['fetch', true],
    ]);
  });

  it('is handed over at once by a process that ends, and goes on with the same upstream task', async () => {
    let hasReported = false;
    upstream.report = () => {
      hasReported = true;
      return { state: 'pending', progress: 40 };
    };
    const first = beginRunner();
    const job = await open();
    await expect.poll(() => hasReported, { timeout: 60_000 }).toBe(true);
    await first.drain(60_000);
    upstream.report = () => ({ state: 'done' });
    const ended = await end(beginRunner(), job);
    expect(ended).toMatchObject({ status: 'done', charged: price });
    expect(ended.attempts).toBe(2);
    expect(upstream.calls.started).toBe(1);
  });

  it('goes on when its SKU is taken off sale after it was begun', async () => {
    upstream.start = () => {
      upstream.routesFor = () => {
        throw new ProviderError('no route serves the SKU', { failure: 'retry_other' });
      };
      return Promise.resolve('task-1');
    };
    expect(await end(beginRunner(), await open())).toMatchObject({ status: 'done', charged: price });
  });

  it('that is just being begun when its process ends is begun to the end, and once', async () => {
    let begin = (_task: string): void => undefined;
    upstream.start = (signal) =>
      new Promise((resolve, reject) => {
        begin = resolve;
        signal.addEventListener('abort', () => reject(signal.reason as Error));
      });
    const first = beginRunner();
    const job = await open();
    await expect.poll(() => upstream.calls.started, { timeout: 60_000 }).toBe(1);
    const drained = first.drain(60_000);
    // Longer than a job that is cut short has for its last words.
    await pause(1_200);
    const { leaseUntil } = (await store.getJob({ id: job.id, accountId: owner.accountId })) ?? {};
    expect(leaseUntil).toBeGreaterThan(now);
    begin('task-1');
    await drained;
    const ended = await end(beginRunner(), job);
    expect(ended).toMatchObject({ status: 'done', charged: price });
    expect(upstream.calls.started).toBe(1);
  });

  it('never asks an upstream twice to begin when the first answer was lost', async () => {
    upstream.start = () => new Promise(() => undefined);
    const first = beginRunner();
    const job = await open();
    await expect.poll(() => upstream.calls.started, { timeout: 60_000 }).toBe(1);
    await first.drain(0);
    now += leaseMs + 1;
    const ended = await end(beginRunner(), job);
    expect(ended).toMatchObject({
      status: 'failed',
      charged: 0n,
      holdState: 'released',
      error: { code: 'upstream_error' },
    });
    expect(upstream.calls.started).toBe(1);
  });

  it('goes on when what is noted of it cannot be written at first', async () => {
    const { recordProgress } = store;
    const failed = new Set<string>();
    store.recordProgress = (input) => {
      const kind = input.providerTask === undefined ? 'progress' : input.providerTask.slice(0, 18);
      if (failed.has(kind)) return recordProgress(input);
      failed.add(kind);
      return Promise.reject(new Error('the store is away'));
    };
    let asked = 0;
    upstream.report = () => {
      asked += 1;
      now += 3_000;
      return asked < 3 ? { state: 'pending', progress: 20 * asked } : { state: 'done' };
    };
    expect(await end(beginRunner(), await open())).toMatchObject({ status: 'done', charged: price });
    expect([failed.size, upstream.calls.started]).toEqual([3, 1]);
  });

  it('that asks for a moderation pass is looked at before it is begun, and no other is', async () => {
    const steps: unknown[] = [];
    const flagged = new ProviderError('flagged', { failure: 'fatal', code: 'content_policy_violation' });
    const verdicts = [broken('retry_same'), null, null, flagged];
    moderator = {
      check: ({ text, images }) => {
        steps.push([text, ...images.map(({ contentType }) => contentType)]);
        const verdict = verdicts.shift() ?? null;
        return verdict === null ? Promise.resolve() : Promise.reject(verdict);
      },
    };
    const { start } = upstream.routesFor();
    upstream.routesFor = () => ({
      start: (request, call) => {
        steps.push({ asksUpstream: request.nsfwCheck });
        return start(request, call);
      },
    });
    const inputs = [
      { role: 'first_frame' as const, id: 'a', contentType: 'image/png', sizeBytes: 1 },
      { role: 'reference_audio' as const, id: 'b', contentType: 'audio/mpeg', sizeBytes: 1 },
    ];
    const look = ['a harbour at dawn', 'image/png'];
    const runner = beginRunner();

    expect(await end(runner, await open(false, inputs, false))).toMatchObject({ status: 'done' });
    expect(steps.splice(0)).toEqual([{ asksUpstream: false }]);
    expect(await end(runner, await open(false, inputs, true))).toMatchObject({
      status: 'done',
      charged: price,
    });
    // A sound is for the upstream to look at.
    expect(steps.splice(0)).toEqual([look, look, { asksUpstream: true }]);
    expect(await end(runner, await open(false, inputs.slice(0, 1), true))).toMatchObject({ status: 'done' });
    expect(steps.splice(0)).toEqual([look, { asksUpstream: false }]);
    expect(await end(runner, await open(false, inputs, true))).toMatchObject({
      status: 'failed',
      charged: 0n,
      error: { code: 'content_policy_violation' },
    });
    expect(steps.splice(0)).toEqual([look]);
    moderator = null;
    expect(await end(beginRunner(), await open(false, inputs, true))).toMatchObject({ status: 'done' });
  });

  it('bears an upstream that cannot tell for a while', async () => {
    let asked = 0;
    upstream.report = () => {
      asked += 1;
      if (asked < 4) throw broken('retry_same');
      return { state: 'done' };
    };
    expect(await end(beginRunner(), await open())).toMatchObject({ status: 'done', charged: price });
  });

  it('gives up on a task that the upstream does not know, uncharged', async () => {
    upstream.report = () => {
      now += 60_000;
      throw broken('fatal');
    };
    expect(await end(beginRunner(), await open())).toMatchObject({ status: 'failed', charged: 0n });
  });

  it('fetches again when the upstream breaks off, and fails uncharged when it never delivers', async () => {
    upstream.beforeFetch = () => {
      if (upstream.calls.fetched < 2) throw broken('retry_same');
    };
    const runner = beginRunner();
    expect(await end(runner, await open())).toMatchObject({ status: 'done', charged: price });
    upstream.beforeFetch = () => {
      now += 601_000;
      throw broken('retry_same');
    };
    expect(await end(runner, await open())).toMatchObject({ status: 'failed', charged: 0n });
  });

  it('waits to be begun until there is memory for its inputs', async () => {
    let [under, most] = [0, 0];
    upstream.start = async () => {
      under += 1;
      most = Math.max(most, under);
      await pause(50);
      under -= 1;
      return 'task-1';
    };
    const size = { role: 'reference_image', contentType: 'image/png', sizeBytes: 100 * 1024 ** 2 } as const;
    const runner = beginRunner();
    const jobs: Job[] = [];
    for (const number of [1, 2, 3]) jobs.push(await open(false, [{ ...size, id: `input ${number}` }]));
    for (const job of jobs) expect(await end(runner, job)).toMatchObject({ status: 'done' });
    expect(upstream.calls.started).toBe(3);
    expect(most).toBe(1);
  });

  it('waits until it can be kept, and fails uncharged when that takes too long', async () => {
    let isOut = true;
    beforeSave = () => {
      if (isOut) {
        isOut = false;
        throw new Error('the bucket does not answer');
      }
    };
    const runner = beginRunner();
    expect(await end(runner, await open())).toMatchObject({ status: 'done', charged: price });
    beforeSave = () => {
      now += 601_000;
      throw new Error('the bucket does not answer');
    };
    expect(await end(runner, await open())).toMatchObject({
      status: 'failed',
      charged: 0n,
      error: { code: 'server_error' },
    });
  });

  it('fails uncharged at its deadline, and notes progress on the way', async () => {
    upstream.report = () => {
      now += 1_200_000;
      return { state: 'pending', progress: 55 };
    };
    const job = await end(beginRunner(), await open());
    expect(job).toMatchObject({ status: 'failed', charged: 0n, progress: 55 });
  });
});
