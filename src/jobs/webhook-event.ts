import { toIso } from '../kit/clock.ts';
import type { ErrorEnvelope } from '../kit/errors.ts';
import { newId } from '../kit/ids.ts';
import type { Json, JsonObject } from '../kit/json.ts';
import { toJsonText } from '../kit/json-text.ts';
import type { Job } from '../store/store.ts';
import { customDataOf } from './public-job.ts';

interface JobEnd {
  status: 'done' | 'failed';
  /** The image data items of a done job. */
  result: Json;
  error: ErrorEnvelope | null;
  finishedAt: number;
}

/**
 * Makes the event that announces a job's end: the terminal job without its prompt, callback address and amounts
 * (docs/contract.md, "Webhooks"). Null for a job without a callback.
 */
export const toWebhookEvent = (
  job: Job,
  { status, result, error, finishedAt }: JobEnd,
): { eventId: string; body: string } | null => {
  if (job.webhookUrl === null) return null;
  const eventId = newId();
  const body: JsonObject = {
    event_id: eventId,
    id: job.id,
    status,
    model: job.model,
    created_at: toIso(job.createdAt),
    finished_at: toIso(finishedAt),
    custom_data: customDataOf(job),
    data: status === 'done' && Array.isArray(result) ? result : [],
    error: error === null ? null : { ...error },
  };
  return { eventId, body: toJsonText(body) };
};
