import { z } from 'zod';
import { toIso } from '../../kit/clock.ts';
import { AppError } from '../../kit/errors.ts';
import { findVideo, contentUrl, parametersOf } from './video-answer.ts';
import { getVideoContentExamples } from './video-examples.ts';
import { jsonAnswer } from '../answer.ts';
import type { Services } from '../call.ts';
import { lostContent } from '../operation-docs.ts';
import { forRest } from '../schema-marks.ts';
import { extensionOf, isGone } from '../../media/media-library.ts';
import { refundRest } from '../../accounts/ledger/entries.ts';
import { formatUsd } from '../../kit/money.ts';
import type { Job, Media } from '../../store/store.ts';
import { readOperation } from '../define-operation.ts';

const input = z.object({
  video_id: forRest(z.string().min(1).max(128), { description: 'Of the video (UUID).' }),
  variant: z
    .enum(['video', 'last_frame'])
    .default('video')
    .describe('last_frame: only of a video made with return_last_frame=true.'),
});

const output = z.looseObject({
  url: z.string().describe('GET it with the API key as bearer token; takes one byte range.'),
  content_type: z.string(),
  size_bytes: z.int(),
  expires_at: z.string(),
  film_url: z.string().optional().describe('Of the video: opens in a browser, without a key.'),
});

type ContentServices = Pick<Services, 'store' | 'clock' | 'log' | 'media' | 'publicUrl' | 'films'>;

export const getVideoContent = readOperation({
  name: 'get_video_content',
  title: 'Get a video’s content',
  description:
    'Where the bytes of a completed video, or its last frame, are downloaded with the API key, until 23 hours ' +
    'after completion. Free.',
  sells: 'video',
  input,
  output,
  path: '/v1/videos/{video_id}/content',
  query: ['variant'],
  content: ['video/mp4', 'video/quicktime', 'image/png', 'image/jpeg', 'image/webp'],
  errors: [
    'video_not_found',
    'video_not_completed',
    'content_expired',
    'range_not_satisfiable',
    'upstream_error',
    'overloaded',
  ],
  docs: {
    answer: null,
    description:
      'The bytes of a completed video, or of its last frame, whole or one range of them, until 23 hours after ' +
      'completion. Free.',
    examples: getVideoContentExamples,
    wrong: { video_id: 'none', variant: 'x' },
    errors: { upstream_error: lostContent },
  },
  names: ({ video_id: id }) => id,
  resource: {
    path: null,
    name: 'video',
    title: 'The content of a completed video, or with variant=last_frame its last frame',
  },
  handle: async ({ video_id: videoId, variant }, { caller, transport }, services: ContentServices) => {
    const job = await findVideo(services, { videoId, accountId: caller.accountId });
    if (job.status !== 'done')
      throw new AppError(
        'video_not_completed',
        job.status === 'failed'
          ? 'This video failed and has no content. Its error says why: GET /v1/videos/{id}.'
          : 'This video is not completed yet. Poll GET /v1/videos/{id} until status is completed.',
        // OpenAI's clients would otherwise repeat a 409 by themselves.
        { headers: { 'x-should-retry': 'false' } },
      );
    const media = (await services.store.listMedia(job.id)).find(({ role }) => role === variant);
    if (media === undefined)
      throw new AppError(
        'video_not_found',
        'There is no last frame: it was not asked for, or could not be had.',
      );
    if (isGone(media, services.clock.now())) throw contentExpired();
    const extension =
      variant === 'video' ? parametersOf(job).output_format : (extensionOf(media.contentType) ?? 'bin');
    if (transport === 'rest')
      return {
        kind: 'content',
        media,
        fileName: `${job.id}${variant === 'video' ? '' : '-last-frame'}.${extension}`,
        ...(variant === 'video' ? { whenMissing: () => refundLostVideo(job, media, services) } : {}),
      };
    const url = contentUrl(job.id, variant, services.publicUrl());
    const filmUrl = variant === 'video' ? services.films.urlOf(job.id) : null;
    return jsonAnswer(
      {
        url,
        content_type: media.contentType,
        size_bytes: media.sizeBytes,
        expires_at: toIso(media.expiresAt),
        ...(filmUrl === null ? {} : { film_url: filmUrl }),
      },
      { links: [{ url: filmUrl ?? url, name: `${job.id}.${extension}`, mimeType: media.contentType }] },
    );
  },
});

/**
 * The tolerance between clocks. Another replica may have removed expired bytes by its own clock, and the storage of media
 * may have another clock too.
 */
const clockErrorMs = 60_000;

/**
 * Refunds a completed video, once, whose bytes are lost (docs/contract.md, "Video"). Returns `upstream_error`, or
 * `content_expired` when the bytes have expired. A video older than the storage where it is missing is not lost: the
 * storage was changed, and nothing is refunded. Rejects when the storage does not answer.
 */
export const refundLostVideo = async (
  job: Pick<Job, 'id' | 'charged'>,
  { id: mediaId }: Pick<Media, 'id'>,
  services: Pick<Services, 'store' | 'clock' | 'log'> & { media: Pick<Services['media'], 'usedSince'> },
): Promise<AppError> => {
  const { store, clock, log } = services;
  const media = await store.getMedia(mediaId);
  if (media === null || isGone(media, clock.now() + clockErrorMs)) return contentExpired();
  if ((await services.media.usedSince()) > media.createdAt + clockErrorMs) {
    log.error(
      { jobId: job.id, mediaId },
      'a video is not in the place of the media, which is newer than it; were MEDIA_URL or MEDIA_DIR changed?',
    );
    return new AppError('upstream_error', 'The content cannot be read now. Try again later.', {
      cause: new Error(`video ${job.id} is older than the place of the media`),
    });
  }
  const refund = await refundRest(services, { jobId: job.id, reason: 'the content of the video was lost' });
  if (refund.outcome === 'refunded')
    log.error(
      { jobId: job.id, mediaId, refunded: formatUsd(refund.entry.amount) },
      'a lost video was refunded',
    );
  const { charged } = job;
  const said =
    charged === 0n ? 'Nothing was charged for it.' : `The charge of $${formatUsd(charged)} was given back.`;
  return new AppError(
    'upstream_error',
    `The content could not be fetched safely: it is lost. ${said} Make the video again.`,
    { cause: new Error(`the bytes of video ${job.id} are missing`) },
  );
};

export const contentExpired = (): AppError =>
  new AppError(
    'content_expired',
    'The content was kept for 23 hours after completion and is gone. Make the video again.',
  );
