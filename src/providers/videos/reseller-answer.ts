import { z } from 'zod';
import { ProviderError } from '../provider-error.ts';
import { toTaskFailure } from '../video/upstream-failure.ts';
import type { VideoReport } from '../video/video-provider.ts';

/** A video as resellers tell it, read tolerantly: what is not as expected is not there. */
const videoSchema = z.object({
  id: z.string().min(1).optional().catch(undefined),
  status: z.string().optional().catch(undefined),
  progress: z.number().optional().catch(undefined),
  error: z.unknown().optional(),
});

export type ResellerVideo = z.infer<typeof videoSchema>;

/** Null for an answer that is no video. */
export const readVideo = (value: unknown): ResellerVideo | null => videoSchema.safeParse(value).data ?? null;

/** What a video's status means; null for one that is not known. */
export const toReport = ({ status, progress = 0, error }: ResellerVideo): VideoReport | null => {
  switch (status) {
    case 'queued':
    case 'pending':
    case 'processing':
    case 'running':
    case 'in_progress':
      return { state: 'pending', progress };
    case 'succeeded':
    case 'completed':
      return { state: 'done' };
    case 'failed':
      return { state: 'failed', error: toTaskFailure(error) };
    case 'canceled':
    case 'cancelled':
    case 'expired':
      return {
        state: 'failed',
        error: new ProviderError(`the video was ${status}`, { failure: 'fatal', code: 'upstream_error' }),
      };
    default:
      return null;
  }
};
