import { expect, it } from 'vitest';
import { silentLog } from '../../../src/kit/log.ts';
import { createRunVideo, type RunVideoOptions } from '../../../src/operations/videos/run-video.ts';
import { ProviderError, type ProviderFailure } from '../../../src/providers/provider-error.ts';
import type { VideoContent } from '../../../src/providers/video/video-provider.ts';
import { newJobRecord } from '../../../src/store/commands/job-table.ts';
import { noAbort } from '../../providers/collect.ts';
import { opening, queuedJob } from '../../store/builders.ts';

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

/** Ends a video that an upstream has made. `fetch` gets the part and the number of the attempt. */
const endVideo = (fetch: (part: string, attempt: number) => VideoContent, now = () => 0) => {
  const attempts = { video: 0, last_frame: 0 };
  const saveResult: RunVideoOptions['saveResult'] = async ({ role, contentType, source }) => {
    const { length: sizeBytes } = await Array.fromAsync(source as AsyncIterable<Uint8Array>);
    return { id: role, role, contentType, sizeBytes, url: 'unused' };
  };
  const run = createRunVideo({
    routesFor: unused,
    resume: () => ({
      report: () => Promise.resolve({ state: 'done' }),
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
  return run(
    { ...job, providerTask: JSON.stringify(started) },
    {
      isQueued: true,
      signal: noAbort(),
      emit: () => undefined,
      served: () => undefined,
      record: () => Promise.resolve(),
    },
  );
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
