import { toIso } from '../../kit/clock.ts';
import type { KnownJob } from '../../jobs/job-runner.ts';
import { customDataOf, isSandboxJob } from '../../jobs/public-job.ts';
import { videoKeepMs, type VideoJobResult } from './run-video.ts';
import type { JsonObject } from '../../kit/json.ts';
import { formatUsd, type Nano } from '../../kit/money.ts';
import type { Job, Store } from '../../store/store.ts';
import { answerJob, filmUrlOf } from '../jobs/job-answer.ts';
import type { JsonAnswer, MediaLink } from '../answer.ts';
import type { Services } from '../call.ts';
import { AppError, messages } from '../../kit/errors.ts';
import { isUuid } from '../../kit/ids.ts';
import { z } from 'zod';
import { errorEnvelope, sandboxMark, time, usd } from '../answer-fields.ts';

export const videoSchema = z.looseObject({
  id: z.string().describe('Video id (UUID); the job id too.'),
  object: z.literal('video'),
  model: z.string(),
  status: z.enum(['queued', 'in_progress', 'completed', 'failed']),
  progress: z.int().min(0).max(100),
  created_at: time.describe('ISO 8601.'),
  completed_at: time.nullable(),
  expires_at: time.nullable().describe('Until then the content can be downloaded.'),
  film_url: z.string().nullable().describe('Opens in a browser, without a key, until then.'),
  duration: z.int().describe('Seconds.'),
  resolution: z.string(),
  ratio: z.string(),
  generate_audio: z.boolean(),
  output_format: z.enum(['mp4', 'mov']),
  has_last_frame: z.boolean(),
  custom_data: z.record(z.string(), z.unknown()).optional().describe('As it was sent.'),
  error: errorEnvelope.nullable(),
  usage: z.looseObject({
    cost_usd: usd.optional(),
    billed_seconds: z.int(),
    balance_remaining_usd: usd.optional(),
  }),
  ...sandboxMark,
});

export const videoEventSchema = videoSchema
  .omit({ usage: true, film_url: true })
  .extend({ event_id: z.string().describe('The same in every delivery of this event.') })
  .describe('The frozen terminal form of a video.');

/** The members of a video's request that stay readable after its end (`NewJob.parameters`). */
export interface VideoParameters extends JsonObject {
  duration: number;
  resolution: string;
  ratio: string;
  generate_audio: boolean;
  output_format: 'mp4' | 'mov';
  billed_seconds: number;
}

const publicStatus = { queued: 'queued', running: 'in_progress', done: 'completed', failed: 'failed' };

export const parametersOf = (job: Job): VideoParameters => {
  if (job.parameters === null) throw new Error(`video job ${job.id} has no parameters`);
  return JSON.parse(job.parameters) as VideoParameters;
};

const resultOf = (job: Job): VideoJobResult =>
  job.status === 'done' && job.result !== null
    ? (JSON.parse(job.result) as VideoJobResult)
    : { has_last_frame: false };

/** Returns the public form of a video job (docs/contract.md, "Video"), with the present balance. */
const toPublicVideo = (job: Job, available: Nano, filmUrl: string | null): JsonObject => ({
  ...toVideoEvent(job),
  film_url: filmUrl,
  usage: {
    ...(job.holdState === 'open' ? {} : { cost_usd: formatUsd(job.charged) }),
    // A failed video costs nothing.
    billed_seconds: job.status === 'failed' ? 0 : parametersOf(job).billed_seconds,
    balance_remaining_usd: formatUsd(available),
  },
});

/** Returns the form that the event of a video's end has: without amounts. */
export const toVideoEvent = (job: Job): JsonObject => {
  const { billed_seconds: _billedSeconds, ...parameters } = parametersOf(job);
  const isDone = job.status === 'done' && job.finishedAt !== null;
  return {
    id: job.id,
    object: 'video',
    model: job.model,
    status: publicStatus[job.status],
    progress: job.status === 'done' ? 100 : job.progress,
    created_at: toIso(job.createdAt),
    completed_at: isDone && job.finishedAt !== null ? toIso(job.finishedAt) : null,
    expires_at: isDone && job.finishedAt !== null ? toIso(job.finishedAt + videoKeepMs) : null,
    ...parameters,
    has_last_frame: resultOf(job).has_last_frame,
    ...(job.customData === null ? {} : { custom_data: customDataOf(job) }),
    error: job.error === null ? null : { ...job.error },
    ...(isSandboxJob(job) ? { metadata: { sandbox: true } } : {}),
  };
};

/** Answers the present state of a video. */
export const toVideoAnswer = (
  job: KnownJob,
  status: 200 | 202,
  services: Pick<Services, 'store' | 'config' | 'publicUrl' | 'films' | 'clock'>,
): Promise<JsonAnswer> =>
  answerJob(job, services, (available) => {
    const url = filmUrlOf(job, services);
    const links = url === null ? [] : contentLinks(job, url, services);
    return { body: toPublicVideo(job, available, url), status, links };
  });

/** Returns the address of the content. It needs the account's key. */
export const contentUrl = (jobId: string, part: 'video' | 'last_frame', publicUrl: string): string =>
  `${publicUrl}/v1/videos/${jobId}/content${part === 'video' ? '' : `?variant=${part}`}`;

/** People open the film in a browser. The last frame needs the key. */
const contentLinks = (job: Job, filmUrl: string, { publicUrl }: Pick<Services, 'publicUrl'>): MediaLink[] => {
  const format = parametersOf(job).output_format;
  const mimeType = format === 'mov' ? 'video/quicktime' : 'video/mp4';
  const film = { url: filmUrl, name: `${job.id}.${format}`, mimeType };
  if (!resultOf(job).has_last_frame) return [film];
  const url = contentUrl(job.id, 'last_frame', publicUrl());
  return [film, { url, name: `${job.id}-last-frame`, mimeType: null }];
};

/** Returns the account's video job with this id. Throws AppError `video_not_found`. */
export const findVideo = async (
  { store }: { store: Pick<Store, 'getJob'> },
  { videoId, accountId }: { videoId: string; accountId: string },
): Promise<Job> => {
  const id = videoId.toLowerCase();
  const job = isUuid(id) ? await store.getJob({ id, accountId }) : null;
  if (job === null || job.kind !== 'video') throw new AppError('video_not_found', messages.video_not_found);
  return job;
};
