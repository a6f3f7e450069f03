import { z } from 'zod';

const envelope = z.looseObject({ type: z.string(), code: z.string(), message: z.string() });

/** The public video as answered; loose, as it may grow. */
export const videoSchema = z.looseObject({
  id: z.string().describe('Video id (UUID); the job id too.'),
  object: z.literal('video'),
  model: z.string(),
  status: z.enum(['queued', 'in_progress', 'completed', 'failed']),
  progress: z.int().min(0).max(100),
  created_at: z.string().describe('ISO 8601.'),
  completed_at: z.string().nullable(),
  expires_at: z.string().nullable().describe('Until then the content can be downloaded.'),
  duration: z.int().describe('Seconds.'),
  resolution: z.string(),
  ratio: z.string(),
  generate_audio: z.boolean(),
  output_format: z.enum(['mp4', 'mov']),
  has_last_frame: z.boolean(),
  custom_data: z.record(z.string(), z.unknown()).optional().describe('As it was sent.'),
  error: envelope.nullable(),
  usage: z.looseObject({
    cost_usd: z.string().optional(),
    billed_seconds: z.int(),
    balance_remaining_usd: z.string(),
  }),
});
