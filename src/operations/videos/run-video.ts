import { createHash } from 'node:crypto';
import type { Catalogs } from '../../accounts/catalog/catalog.ts';
import type { Price } from '../../accounts/catalog/model.ts';
import { currentPurpose, withPurpose } from '../../kit/call-purpose.ts';
import type { Clock } from '../../kit/clock.ts';
import type { JsonObject } from '../../kit/json.ts';
import { createMemoryBudget, type MemoryBudget } from '../../limits/memory-budget.ts';
import type { Log } from '../../kit/log.ts';
import { digesting } from '../../kit/streams.ts';
import { parseUsd, type Nano } from '../../kit/money.ts';
import type { Moderator } from '../../providers/provider.ts';
import { ProviderError } from '../../providers/provider-error.ts';
import type { RoutedVideo, StartedVideo, VideoTaskHandle } from '../../providers/router.ts';
import type { VideoInput, VideoReport, VideoRequest } from '../../providers/video/video-provider.ts';
import { LeaseLostError, outliveOutage, pause } from '../../kit/repeat.ts';
import type { Job, Store } from '../../store/store.ts';
import type { Executor, ExecutorContext, JobOutcome, ResultMedia } from '../../jobs/executor.ts';
import type { MediaLibrary } from '../../media/media-library.ts';
import { type ImageJobInput, sizeOf } from '../images/run-image.ts';
import { everyRouteRests, toFailedOutcome } from '../../jobs/provider-failure.ts';
import { madeBy } from '../../jobs/public-job.ts';

/** A completed video can be downloaded for this long (docs/contract.md, "Video"). */
export const videoKeepMs = 23 * 3_600_000;

const firstPollMs = 250;
const slowestPollMs = 5_000;
const recordProgressEveryMs = 2_000;
/** How long an upstream must answer, and nothing else, that it has no such task. A proxy may say so in an outage. */
const unknownMs = 60_000;
const moderationAttempts = 3;
const moderationPauseMs = 1_000;
/** The attempts to fetch a result that the upstream refuses for good. */
const fetchAttempts = 3;
const fetchPauseMs = 250;
const longestFetchPauseMs = 30_000;
/** The longest outage of the upstream or of our storage that a begun video waits for, as it is paid upstream. */
const outageMs = 600_000;
/** The memory for inputs of all videos that are being started. A job waits until its inputs fit. */
const inputMemoryBytes = 256 * 1024 ** 2;
const longestWaitMs = 600_000;
/** A start is never aborted, as it would be unknown whether the upstream works. It has its own timeouts. */
const unaborted = new AbortController().signal;

/** A medium that a job makes its video from: our own checked copy. */
export interface VideoJobInput extends ImageJobInput {
  role: VideoInput['role'];
}

export interface VideoJobRequest {
  request: Omit<VideoRequest, 'model' | 'inputs'>;
  inputs: VideoJobInput[];
  /** The frozen price of the whole video, in USD. */
  priceUsd: string;
  /** The id of the request that asked for it. Jobs of an earlier version lack it. */
  requestId?: string;
}

export interface VideoJobResult extends JsonObject {
  has_last_frame: boolean;
}

/** `starting`: an upstream may have been asked, but its answer is unknown. */
type TaskRecord = { state: 'starting' } | ({ state: 'started' } & StartedVideo);

export interface RunVideoOptions {
  routesFor: (sku: string) => Pick<RoutedVideo, 'start'>;
  resume: (started: StartedVideo) => VideoTaskHandle;
  costOf: Catalogs['costOf'];
  /** Makes a saved input readable to an adapter. */
  openInput: (input: VideoJobInput) => VideoInput;
  /** Moderates requests with `nsfw_check`. Null: their upstream does. */
  moderator: Moderator | null;
  saveResult: MediaLibrary['save'];
  store: Pick<Store, 'noteMadeClip'>;
  clock: Clock;
  log: Log;
}

/**
 * Runs video jobs. The upstream's task id is stored before it is asked for the first time, so any process can take the
 * job up again; a start whose answer was lost is not repeated, as the upstream may be at work and want its money.
 */
export const createRunVideo = (options: RunVideoOptions): Executor => {
  const memory = createMemoryBudget({ totalBytes: inputMemoryBytes, longestWaitMs });

  return async (job, context) => {
    const work = JSON.parse(job.request) as VideoJobRequest;
    try {
      const started = await startOrResume(job, work, context, { ...options, memory });
      const handle = options.resume(started);
      return await withPurpose({ ...currentPurpose(), isQuestion: true }, async () => {
        await untilDone(job, handle, context, options);
        return collect(job, work, { started, handle }, context, options);
      });
    } catch (error) {
      // All videos are queued. Also after an abort: else the note `starting` would stay, and fail the job.
      if (everyRouteRests(error)) return { status: 'queued' };
      context.signal.throwIfAborted();
      return toFailedOutcome(error, { log: options.log, job, requestId: work.requestId });
    }
  };
};

const startOrResume = async (
  job: Job,
  { request, inputs }: VideoJobRequest,
  { signal, record }: ExecutorContext,
  { routesFor, openInput, moderator, memory, log }: RunVideoOptions & { memory: MemoryBudget },
): Promise<StartedVideo> => {
  const note = (state: TaskRecord): Promise<void> =>
    outliveOutage(() => record({ providerTask: JSON.stringify(state) }), {
      what: 'noting the task of a video',
      jobId: job.id,
      log,
    });
  const task = job.providerTask === null ? null : (JSON.parse(job.providerTask) as TaskRecord);
  if (task?.state === 'started') return task;
  if (task !== null)
    throw new ProviderError('an earlier attempt ended while the upstream was asked to begin', {
      failure: 'ambiguous',
    });
  const release = await memory.reserve(sizeOf(inputs), { signal, accountId: job.accountId });
  try {
    const order = { ...request, inputs: inputs.map(openInput) };
    if (request.nsfwCheck && moderator !== null) {
      await moderate(moderator, order, signal);
      // The moderator takes text and images only, so the upstream moderates films and sounds.
      order.nsfwCheck = inputs.some(({ contentType }) => !contentType.startsWith('image/'));
    }
    await note({ state: 'starting' });
    const started = await routesFor(job.model).start(order, { signal: unaborted });
    await note({ state: 'started', ...started });
    return started;
  } finally {
    release();
  }
};

/** Moderates the prompt and the images, and tries again after a failure. Throws ProviderError. */
const moderate = async (
  moderator: Moderator,
  { prompt, inputs }: Omit<VideoRequest, 'model'>,
  signal: AbortSignal,
): Promise<void> => {
  const images = inputs.filter(({ contentType }) => contentType.startsWith('image/'));
  for (let attempt = 1; ; attempt += 1) {
    try {
      await moderator.check({ text: prompt, images }, { signal });
      return;
    } catch (error) {
      signal.throwIfAborted();
      const isFinal = !(error instanceof ProviderError) || error.failure === 'fatal';
      if (isFinal || attempt >= moderationAttempts) throw error;
      await pause(moderationPauseMs * attempt, signal);
      signal.throwIfAborted();
    }
  }
};

/** Polls more and more slowly until the task is done. Throws ProviderError when it failed, or at the job's deadline. */
const untilDone = async (
  job: Job,
  handle: VideoTaskHandle,
  context: ExecutorContext,
  { clock, log }: RunVideoOptions,
): Promise<void> => {
  const { signal } = context;
  let noted = { progress: job.progress, at: clock.now() };
  let deaf: { isUnknown: boolean | null; since: number } = { isUnknown: null, since: 0 };
  for (let waitMs = firstPollMs; ; waitMs = Math.min(waitMs * 1.3, slowestPollMs)) {
    const report = await ask(handle, signal);
    const now = clock.now();
    if (report.state === 'done') return;
    if (report.state === 'failed') throw report.error;
    if (report.state === 'unheard') {
      const isUnknown = report.error.failure === 'fatal';
      if (deaf.isUnknown !== isUnknown) deaf = { isUnknown, since: now };
      log.debug({ ...report.error.facts(), jobId: job.id }, 'an upstream did not tell of a video task');
      if (now - deaf.since >= (isUnknown ? unknownMs : outageMs)) throw report.error;
    } else {
      deaf.isUnknown = null;
      const progress = Math.min(Math.max(Math.floor(report.progress ?? 0), 0), 99);
      if (progress > noted.progress && now - noted.at >= recordProgressEveryMs) {
        await noteProgress({ job, progress }, context, log);
        noted = { progress, at: now };
      }
    }
    if (now >= job.deadlineAt)
      throw new ProviderError('the upstream did not finish the video in time', { failure: 'ambiguous' });
    await pause(waitMs, signal);
    signal.throwIfAborted();
  }
};

/** Records progress. A failure to record is only logged, but a lost lease is thrown. */
const noteProgress = async (
  { job, progress }: { job: Job; progress: number },
  { record }: ExecutorContext,
  log: Log,
): Promise<void> => {
  try {
    await record({ progress });
  } catch (error) {
    if (error instanceof LeaseLostError) throw error;
    log.warn({ err: error, jobId: job.id }, 'noting the progress of a video failed');
  }
};

const ask = async (
  handle: VideoTaskHandle,
  signal: AbortSignal,
): Promise<VideoReport | { state: 'unheard'; error: ProviderError }> => {
  try {
    return await handle.report(signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ProviderError)) throw error;
    return { state: 'unheard', error };
  }
};

const collect = async (
  job: Job,
  work: VideoJobRequest,
  { started, handle }: { started: StartedVideo; handle: VideoTaskHandle },
  context: ExecutorContext,
  options: RunVideoOptions,
): Promise<JobOutcome> => {
  const { request, priceUsd } = work;
  const fetchPart = (part: 'video' | 'last_frame'): Promise<SavedPart | null> =>
    fetchAndSave({ job, part, request, handle }, context, options);
  const video = await fetchPart('video');
  if (video === null) throw new ProviderError('a finished task had no video', { failure: 'fatal' });
  // The requested length, in whole seconds. For an edit it is the length of its video.
  const { duration: seconds } = JSON.parse(job.parameters ?? '{}') as { duration?: number };
  if (seconds !== undefined)
    await outliveOutage(
      () => options.store.noteMadeClip({ digest: video.digest, seconds, now: options.clock.now() }),
      { what: 'noting the length of a video', jobId: job.id, log: options.log, signal: context.signal },
    );
  const lastFrame = request.returnLastFrame
    ? await fetchPart('last_frame').catch((error: unknown) => {
        context.signal.throwIfAborted();
        // The video is there and paid for.
        options.log.warn({ err: error, jobId: job.id }, 'a video lost its last frame');
        return null;
      })
    : null;
  const result: VideoJobResult = { has_last_frame: lastFrame !== null };
  return {
    status: 'done',
    result,
    charge: parseUsd(priceUsd),
    cost: costOfVideo(job, work, options.costOf(job.model, started)),
    media: [video, lastFrame].flatMap((part) => (part === null ? [] : [part.media])),
    metadata: madeBy(started),
  };
};

/** Returns what the operator pays for the billed seconds; null: unknown. */
const costOfVideo = (job: Job, { request, inputs }: VideoJobRequest, cost: Price | null): Nano | null => {
  const { billed_seconds: seconds } = JSON.parse(job.parameters ?? '{}') as { billed_seconds?: number };
  const rate =
    cost?.unit === 'second' ? cost.rates.find((one) => one.resolution === request.resolution) : null;
  const hasReference = inputs.some(({ role }) => role === 'reference_video');
  const perSecond = (hasReference ? rate?.withVideoPrice : rate?.price) ?? null;
  return seconds === undefined || perSecond === null ? null : perSecond * BigInt(seconds);
};

interface SavedPart {
  media: ResultMedia;
  digest: string;
}

/** Streams one part into the media storage. Tries again when the upstream breaks off or the storage fails. */
const fetchAndSave = async (
  {
    job,
    part,
    request,
    handle,
  }: { job: Job; part: 'video' | 'last_frame'; request: VideoJobRequest['request']; handle: VideoTaskHandle },
  { signal }: ExecutorContext,
  { saveResult, clock, log }: RunVideoOptions,
): Promise<SavedPart | null> => {
  const keepUntil = clock.now() + outageMs;
  for (let attempt = 1; ; attempt += 1) {
    try {
      const content = await handle.fetch(part, { request, signal });
      if (content === null) return null;
      const hash = createHash('sha256');
      const { url: _url, ...medium } = await saveResult({
        accountId: job.accountId,
        role: part,
        contentType: content.contentType,
        source: digesting(content.body, hash),
        signal,
      });
      return { media: { ...medium, keepMs: videoKeepMs }, digest: hash.digest('hex') };
    } catch (error) {
      signal.throwIfAborted();
      const isRefused = error instanceof ProviderError && error.failure === 'fatal';
      if (isRefused ? attempt >= fetchAttempts : clock.now() >= keepUntil) throw error;
      const tried = { jobId: job.id, part, attempt };
      if (error instanceof ProviderError)
        log.debug({ ...error.facts(), ...tried }, 'fetching a video failed');
      else log.warn({ err: error, ...tried }, 'keeping a video failed; trying again');
      await pause(Math.min(fetchPauseMs * 2 ** attempt, longestFetchPauseMs), signal);
      signal.throwIfAborted();
    }
  }
};
