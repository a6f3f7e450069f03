import { z } from 'zod';
import { errorEnvelope, time } from '../answer-fields.ts';
import { forRest } from '../schema-marks.ts';

const uuid = forRest(z.string(), { format: 'uuid' });

export const imageEventSchema = z
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
