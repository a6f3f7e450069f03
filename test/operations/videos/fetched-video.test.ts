import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { silentLog } from '../../../src/kit/log.ts';
import { createRunVideo, type RunVideoOptions } from '../../../src/operations/videos/run-video.ts';
import { ProviderError, type ProviderFailure } from '../../../src/providers/provider-error.ts';
import type { VideoContent, VideoReport } from '../../../src/providers/video/video-provider.ts';
import { newJobRecord } from '../../../src/store/commands/job-table.ts';
import { noAbort } from '../../providers/collect.ts';
import { opening, queuedJob } from '../../store/builders.ts';

beforeEach(() => void vi.useFakeTimers({ fakeNodeBuiltins: true, now: 0 }));
afterEach(() => void vi.useRealTimers());

const unused = () => {
  throw new Error('the video was begun before');
};

const content = (part: string): VideoContent => ({
  contentType: part === 'video' ? 'video/mp4' : 'image/png',
  body: (async function* () {
    yield await Promise.resolve(Buffer.from(part));
  })(),
});

const broken = (failure: ProviderFailure) => new ProviderError('the upstream breaks off', { failure });

/** Ends a video that an upstream has begun. `fetch` gets the part and the number of the attempt. */
const endVideo = async (
  fetch: (part: string, attempt: number) => VideoContent,
  now = () => 0,
  report = async (): Promise<VideoReport> => ({ state: 'done' }),
) => {
  const attempts = { video: 0, last_frame: 0 };
  const saveResult: RunVideoOptions['saveResult'] = async ({ role, contentType, source }) => {
    const { length: sizeBytes } = await Array.fromAsync(source as AsyncIterable<Uint8Array>);
    return { id: role, role, contentType, sizeBytes, url: 'unused' };
  };
  const run = createRunVideo({
    routesFor: unused,
    resume: () => ({
      report,
      fetch: async (part) => fetch(part, (attempts[part] += 1)),
    }),
    costOf: () => null,
    openInput: unused,
    moderator: null,
    saveResult,
    store: { noteMadeClip: unused },
    clock: { now },
    log: silentLog,
  });
  const request = JSON.stringify({ request: { returnLastFrame: true }, inputs: [], priceUsd: '1' });
  const job = newJobRecord(opening(queuedJob({ accountId: 'a', keyId: 'k' }, { kind: 'video', request })));
  const started = { state: 'started', provider: 'p', model: 'm', task: 't', isSandbox: true };
  const ended = run(
    { ...job, providerTask: JSON.stringify(started) },
    {
      isQueued: true,
      signal: noAbort(),
      emit: () => undefined,
      served: () => undefined,
      record: () => Promise.resolve(),
    },
  );
  await vi.advanceTimersByTimeAsync(1_000_000);
  return ended;
};

it.each(['retry_same', 'retry_other', 'ambiguous'] as const)(
  'a video that an upstream has made is fetched again while that fails as %s, for longer than three attempts',
  async (failure) => {
    const outcome = await endVideo((part, attempt) => {
      if (part === 'video' && attempt < 4) throw broken(failure);
      return content(part);
    });
    expect(outcome).toMatchObject({ status: 'done', result: { has_last_frame: true } });
  },
);

it.each([
  ['is never there', 'ambiguous'],
  ['is refused', 'fatal'],
] as const)('a video whose last frame %s is done without it', async (_name, failure) => {
  let now = 0;
  const outcome = await endVideo(
    (part) => {
      if (part === 'video') return content(part);
      now += 301_000;
      throw broken(failure);
    },
    () => now,
  );
  expect(outcome).toMatchObject({
    status: 'done',
    result: { has_last_frame: false },
    media: [{ role: 'video' }],
  });
});

it.each([
  ['never comes within ten minutes', 'retry_same'],
  ['is refused again and again', 'fatal'],
] as const)('a video that %s fails', async (_name, failure) => {
  let now = 0;
  const outcome = await endVideo(
    () => {
      now += failure === 'fatal' ? 0 : 301_000;
      throw broken(failure);
    },
    () => now,
  );
  expect(outcome).toMatchObject({ status: 'failed' });
});

/** Ends a video whose upstream is asked as in life, and has it after a quarter of an hour. Adds the times of its questions. */
const endPolledVideo = (failureAt: (ms: number) => ProviderFailure | false, asked: number[] = []) => {
  return endVideo(content, Date.now, async () => {
    const ms = Date.now();
    asked.push(ms);
    const failure = failureAt(ms);
    if (failure !== false) throw broken(failure);
    return ms < 900_000 ? { state: 'pending', progress: 1 } : { state: 'done' };
  });
};

it.each<[string, (ms: number) => ProviderFailure | false]>([
  ['five minutes without an answer', (ms) => ms < 300_000 && 'retry_same'],
  ['one answer that the upstream has no such task', (ms) => ms === 0 && 'fatal'],
  ['such answers at the end of an outage', (ms) => ms < 500_000 && (ms < 480_000 ? 'ambiguous' : 'fatal')],
])('a video outlives %s', async (_name, failureAt) => {
  expect(await endPolledVideo(failureAt)).toMatchObject({ status: 'done' });
});

it.each([
  ['ten minutes without an answer', 'retry_same', 600_000],
  ['a minute of answers that the upstream has no such task', 'fatal', 60_000],
] as const)('a video fails after %s', async (_name, failure, longestMs) => {
  const asked: number[] = [];
  expect(await endPolledVideo(() => failure, asked)).toMatchObject({ status: 'failed' });
  expect(asked.slice(-2).map((ms) => ms >= longestMs)).toEqual([false, true]);
});
