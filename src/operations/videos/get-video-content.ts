import { z } from 'zod';
import { toIso } from '../../kit/clock.ts';
import { AppError } from '../../kit/errors.ts';
import { findVideo, contentUrl, parametersOf } from './video-answer.ts';
import { refundLostVideo, contentExpired } from './refund-lost-video.ts';
import { getVideoContentExamples } from './video-examples.ts';
import { jsonAnswer, lostContent } from '../operation.ts';
import { readOperation } from '../read-operation.ts';
import { forRest } from '../schema-marks.ts';
import { extensionOf } from '../../media/media-types.ts';
import { isGone } from '../../media/is-gone.ts';

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
});

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
    headers: {},
    mayBeSandbox: false,
    errors: { upstream_error: lostContent },
  },
  resource: {
    path: null,
    name: 'video',
    title: 'The content of a completed video, or with variant=last_frame its last frame',
  },
  handle: async ({ video_id: videoId, variant }, { caller, transport }, services) => {
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
        'There is no last frame: the video was not made with return_last_frame=true.',
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
    return jsonAnswer(
      {
        url,
        content_type: media.contentType,
        size_bytes: media.sizeBytes,
        expires_at: toIso(media.expiresAt),
      },
      { links: [{ url, name: `${job.id}.${extension}`, mimeType: media.contentType }] },
    );
  },
});
