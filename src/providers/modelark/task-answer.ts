import { z } from 'zod';
import { ProviderError } from '../provider-error.ts';
import { toTaskFailure } from '../video/upstream-failure.ts';
import type { VideoReport } from '../video/video-provider.ts';

const text = z.string().min(1).optional().catch(undefined);

/** A task as ModelArk tells it, read tolerantly: what is not as expected is not there. */
const taskSchema = z.object({
  id: text,
  status: text,
  error: z.unknown().optional(),
  content: z.object({ video_url: text, last_frame_url: text }).nullish().catch(undefined),
});

export type TaskAnswer = z.infer<typeof taskSchema>;

/** Null for an answer that is no task. */
export const readTask = (value: unknown): TaskAnswer | null => taskSchema.safeParse(value).data ?? null;

/** What a task's state means; null for a state that is not known. */
export const toReport = (task: TaskAnswer): VideoReport | null => {
  switch (task.status) {
    case 'queued':
    case 'running':
      return { state: 'pending', progress: null };
    case 'succeeded':
      return task.content?.video_url === undefined
        ? failed('a finished task has no video')
        : { state: 'done' };
    case 'failed':
      return { state: 'failed', error: toTaskFailure(task.error) };
    case 'cancelled':
    case 'expired':
      return failed(`the task was ${task.status}`);
    default:
      return null;
  }
};

const failed = (message: string): VideoReport => ({
  state: 'failed',
  error: new ProviderError(message, { failure: 'fatal', code: 'upstream_error' }),
});
