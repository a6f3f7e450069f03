import type { JsonObject } from '../../kit/json.ts';
import type { DocsExamples } from '../define-operation.ts';
import type { EventDocs } from '../operation-docs.ts';
import { z } from 'zod';
import { errorEnvelope, time } from '../answer-fields.ts';
import { forRest } from '../schema-marks.ts';

const uuid = forRest(z.string(), { format: 'uuid' });

const imageEventSchema = z
  .looseObject({
    event_id: uuid.describe('The same in every delivery of this event.'),
    id: uuid.describe('Job id.'),
    status: z.enum(['done', 'failed']),
    model: z.string(),
    created_at: time,
    finished_at: time,
    custom_data: z.looseObject({}).describe('As it was sent.'),
    data: z
      .array(z.looseObject({ url: z.string(), revised_prompt: z.string().nullish() }))
      .describe('Empty for a failed job.'),
    error: errorEnvelope.nullable(),
  })
  .describe('The frozen terminal form of an image job.');

export const imageJobId = '7f3a9a52-0c8e-4f6d-9a3e-5b1d2c3e4f50';
const createdAt = '2026-11-20T09:30:00.000Z';
const resultUrl = 'https://gateway.example.com/results/4fJq0mS2xYw8bT6uVn3kRzPc1LhGdEaW5iQoXyZ7BtN.png';

const queuedImage: JsonObject = {
  id: imageJobId,
  status: 'queued',
  model: 'imagemodel-1.0',
  created_at: createdAt,
  finished_at: null,
  custom_data: { order: 7301 },
  data: [],
  error: null,
  usage: { balance_remaining_usd: '24.96' },
};

export const doneImage: JsonObject = {
  ...queuedImage,
  status: 'done',
  finished_at: '2026-11-20T09:30:06.412Z',
  data: [{ url: resultUrl, revised_prompt: null }],
  usage: { cost_usd: '0.04', balance_remaining_usd: '24.96' },
};

export const failedImage: JsonObject = {
  ...queuedImage,
  status: 'failed',
  finished_at: '2026-11-20T09:30:02.007Z',
  error: {
    type: 'invalid_request_error',
    code: 'content_policy_violation',
    message: 'The prompt asks for something that is not made here.',
  },
  usage: { cost_usd: '0.00', balance_remaining_usd: '25.00' },
};

const lighthouse: JsonObject = { model: 'imagemodel-1.0', prompt: 'A lighthouse at dusk, watercolour' };

export const createImageExamples: DocsExamples = [
  {
    summary: 'Text to image, waiting for the result',
    body: { ...lighthouse, aspect_ratio: '3:2' },
    answer: { ...doneImage, custom_data: {} },
  },
  {
    summary: 'Queued, with a signed callback at the end',
    parameters: { async: true },
    body: {
      ...lighthouse,
      webhook_url: 'https://shop.example.com/hooks/causeway',
      custom_data: { order: 7301 },
    },
    status: 202,
    answer: queuedImage,
  },
  {
    summary: 'An edit of a picture',
    parameters: { async: true },
    body: {
      model: 'imagemodel-1.0',
      prompt: 'Make it night',
      image: ['https://shop.example.com/pictures/lighthouse.png'],
      custom_data: { order: 7301 },
    },
    status: 202,
    answer: queuedImage,
  },
];

const { usage: _usage, ...endedImage } = doneImage;

/** The callback of an image job. */
export const imageEvent: EventDocs = {
  name: 'image_job_ended',
  summary: 'An image job has ended',
  when: 'Sent to webhook_url when the job is done or has failed.',
  schemaName: 'ImageJobEvent',
  schema: imageEventSchema,
  example: { event_id: '9a8b7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d', ...endedImage },
};
