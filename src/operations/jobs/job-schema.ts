import { z } from 'zod';
import { errorEnvelope, sandboxMark, time, usd } from '../answer-fields.ts';
import { chatCompletionSchema } from '../chat/chat-completion-schema.ts';
import { responseSchema } from '../responses/response-schema.ts';
import { opaque } from '../schema-marks.ts';

export const jobSchema = z.looseObject({
  id: z.string().describe('Job id (UUID).'),
  status: z.enum(['queued', 'running', 'done', 'failed']),
  model: z.string(),
  created_at: time.describe('ISO 8601.'),
  finished_at: time.nullable(),
  custom_data: z.record(z.string(), z.unknown()),
  data: z
    .array(z.looseObject({ url: z.string(), revised_prompt: z.string().nullable() }))
    .describe('Images; empty until status is done.'),
  error: errorEnvelope.nullable(),
  usage: z.looseObject({ cost_usd: usd.optional(), balance_remaining_usd: usd }),
  response: opaque(
    z
      .union([chatCompletionSchema, responseSchema])
      .optional()
      .describe('What a done chat or response job answered.'),
  ),
  ...sandboxMark,
});
