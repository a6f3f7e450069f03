import type { JsonObject } from '../../kit/json.ts';
import type { DocsExamples } from '../define-operation.ts';
import type { EventDocs } from '../operation-docs.ts';
import { videoEventSchema } from './video-answer.ts';

const videoId = '4d1c2b3a-6e5f-4a7b-8c9d-0e1f2a3b4c5d';
const createdAt = '2026-11-20T09:30:00.000Z';

const queuedVideo: JsonObject = {
  id: videoId,
  object: 'video',
  model: 'videomodel-2.0',
  status: 'queued',
  progress: 0,
  created_at: createdAt,
  completed_at: null,
  expires_at: null,
  film_url: null,
  duration: 5,
  resolution: '720p',
  ratio: '16:9',
  generate_audio: true,
  output_format: 'mp4',
  has_last_frame: false,
  error: null,
  usage: { billed_seconds: 5, balance_remaining_usd: '24.80' },
};

const completedVideo: JsonObject = {
  ...queuedVideo,
  status: 'completed',
  progress: 100,
  completed_at: '2026-11-20T09:31:12.903Z',
  expires_at: '2026-11-21T08:31:12.903Z',
  film_url:
    'https://gateway.example.com/films/TRwrOm5fSnuMnQ4fKjtMXTq8sVxY2mJw7eKcP0aR5tLhZbQnU6oFiDgWvE1yHxN4',
  usage: { cost_usd: '0.20', billed_seconds: 5, balance_remaining_usd: '24.80' },
};

const { usage: _usage, film_url: _filmUrl, ...endedVideo } = completedVideo;

/** The callback of a video job. */
export const videoEvent: EventDocs = {
  name: 'video_job_ended',
  summary: 'A video job has ended',
  when: 'Sent to webhook_url when the job is done or has failed.',
  schemaName: 'VideoJobEvent',
  schema: videoEventSchema,
  example: { event_id: '1f2e3d4c-5b6a-4798-8a9b-0c1d2e3f4a5b', ...endedVideo },
};

export const createVideoExamples: DocsExamples = [
  {
    summary: 'Text to video',
    body: {
      model: 'videomodel-2.0',
      content: [{ type: 'text', text: 'Waves against a lighthouse, slow camera' }],
      duration: 5,
      resolution: '720p',
      ratio: '16:9',
    },
    status: 202,
    answer: queuedVideo,
  },
  {
    summary: 'From a first frame, with the last frame kept',
    body: {
      model: 'videomodel-2.0',
      prompt: 'The lamp begins to turn',
      image_url: 'https://shop.example.com/pictures/lighthouse.png',
      duration: 5,
      return_last_frame: true,
    },
    status: 202,
    answer: { ...queuedVideo, ratio: 'adaptive' },
  },
  {
    summary: 'An edit of a reference video',
    body: {
      model: 'videomodel-2.5',
      content: [
        { type: 'text', text: 'Make it winter' },
        {
          type: 'video_url',
          video_url: { url: 'https://shop.example.com/clips/harbour.mp4' },
          role: 'reference_video',
        },
      ],
      duration: -1,
    },
    status: 202,
    answer: {
      ...queuedVideo,
      model: 'videomodel-2.5',
      ratio: 'adaptive',
      usage: { billed_seconds: 5, balance_remaining_usd: '24.82' },
    },
  },
];

export const getVideoExamples: DocsExamples = [
  { summary: 'A completed video', parameters: { video_id: videoId }, answer: completedVideo },
];

export const getVideoContentExamples: DocsExamples = [
  { summary: 'The whole video', parameters: { video_id: videoId, variant: 'video' }, answer: null },
];
