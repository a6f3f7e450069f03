import { z } from 'zod';

/** The public job as answered; loose, as later kinds add members. */
export const jobSchema = z.looseObject({
  id: z.string().describe('Job id (UUID).'),
  status: z.enum(['queued', 'running', 'done', 'failed']),
  model: z.string(),
  created_at: z.string().describe('ISO 8601.'),
  finished_at: z.string().nullable(),
  custom_data: z.record(z.string(), z.unknown()),
  data: z
    .array(z.looseObject({ url: z.string(), revised_prompt: z.string().nullable() }))
    .describe('Images; empty until status is done.'),
  error: z.looseObject({ type: z.string(), code: z.string(), message: z.string() }).nullable(),
  usage: z.looseObject({ cost_usd: z.string().optional(), balance_remaining_usd: z.string() }),
  response: z.looseObject({}).optional().describe('What a done chat or response job answered.'),
});
