import { z } from 'zod';
import { findVideo, toVideoAnswer, videoSchema } from './video-answer.ts';
import type { Services } from '../call.ts';
import { type JobServices, waitMsField, waitForEnd } from '../jobs/job-answer.ts';
import { getVideoExamples } from './video-examples.ts';
import { forRest } from '../schema-marks.ts';
import { readOperation } from '../define-operation.ts';

const input = z.object({
  video_id: forRest(z.string().min(1).max(128), { description: 'Of the video (UUID).' }),
  wait_ms: waitMsField.describe('Wait up to this many milliseconds for the end before answering. Default 0.'),
});

export const getVideo = readOperation({
  name: 'get_video',
  title: 'Read a video',
  description:
    'State of a video of this account. While status is queued or in_progress, call again with wait_ms. ' +
    'Once completed, its content can be downloaded until expires_at. Free.',
  sells: 'video',
  input,
  output: videoSchema,
  path: '/v1/videos/{video_id}',
  // The contract lists those of the create call here, too.
  errors: ['video_not_found', 'model_not_found', 'insufficient_balance', 'idempotency_conflict'],
  names: ({ video_id: id }) => id,
  tool: { view: 'job', main: ['video_id', 'wait_ms'] },
  docs: {
    answer: 'Video',
    description:
      'State of a video of this account. Poll it while status is queued or in_progress. Once completed, its content can ' +
      'be downloaded until expires_at. Free.',
    examples: getVideoExamples,
    wrong: { video_id: 'x'.repeat(129) },
    mayBeSandbox: true,
  },
  handle: async (
    { video_id: videoId, wait_ms: waitMs },
    call,
    services: JobServices & Pick<Services, 'publicUrl' | 'films'>,
  ) => {
    const job = await findVideo(services, { videoId, accountId: call.caller.accountId });
    return toVideoAnswer(await waitForEnd({ job, timeoutMs: waitMs ?? 0 }, call, services), 200, services);
  },
});
