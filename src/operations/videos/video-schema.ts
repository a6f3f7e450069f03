import { z } from 'zod';
import { errorEnvelope, sandboxMark, time, usd } from '../answer-fields.ts';

/** The public video as answered; loose, as it may grow. */
export const videoSchema = z.looseObject({
  id: z.string().describe('Video id (UUID); the job id too.'),
  object: z.literal('video'),
  model: z.string(),
  status: z.enum(['queued', 'in_progress', 'completed', 'failed']),
  progress: z.int().min(0).max(100),
  created_at: time.describe('ISO 8601.'),
  completed_at: time.nullable(),
  expires_at: time.nullable().describe('Until then the content can be downloaded.'),
  duration: z.int().describe('Seconds.'),
  resolution: z.string(),
  ratio: z.string(),
  generate_audio: z.boolean(),
  output_format: z.enum(['mp4', 'mov']),
  has_last_frame: z.boolean(),
  custom_data: z.record(z.string(), z.unknown()).optional().describe('As it was sent.'),
  error: errorEnvelope.nullable(),
  usage: z.looseObject({ cost_usd: usd.optional(), billed_seconds: z.int(), balance_remaining_usd: usd }),
  ...sandboxMark,
});
