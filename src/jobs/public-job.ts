import { isoOrNull, toIso } from '../kit/clock.ts';
import { newId } from '../kit/ids.ts';
import type { Json, JsonObject } from '../kit/json.ts';
import { parseVerbatim, toJsonText } from '../kit/json-text.ts';
import { formatUsd, type Nano } from '../kit/money.ts';
import type { Job } from '../store/store.ts';

/** The members that a job has for its account and in its webhook event. */
const jobMembers = (
  job: Pick<Job, 'id' | 'status' | 'model' | 'createdAt' | 'finishedAt' | 'customData' | 'error'>,
  result: Json,
): JsonObject => ({
  id: job.id,
  status: job.status,
  model: job.model,
  created_at: toIso(job.createdAt),
  finished_at: isoOrNull(job.finishedAt),
  custom_data: customDataOf(job),
  data: job.status === 'done' && Array.isArray(result) ? result : [],
  error: job.error === null ? null : { ...job.error },
});

/** Makes the public form of a job (docs/contract.md, "Job") with the current amounts. */
export const toPublicJob = (job: Job, available: Nano): JsonObject => {
  const result = job.status === 'done' && job.result !== null ? (JSON.parse(job.result) as Json) : null;
  return {
    ...jobMembers(job, result),
    usage: {
      ...(job.holdState === 'open' ? {} : { cost_usd: formatUsd(job.charged) }),
      balance_remaining_usd: formatUsd(available),
    },
    ...(isText(job) && result !== null ? { response: result } : {}),
    ...(isSandboxJob(job) ? { metadata: { sandbox: true } } : {}),
  };
};

/** Returns the caller's data. `toJsonText` writes it exactly as it was sent. */
export const customDataOf = ({ customData }: Pick<Job, 'customData'>): JsonObject =>
  customData === null ? {} : parseVerbatim(customData);

const isText = ({ kind }: Job): boolean => kind === 'chat' || kind === 'responses';

/** True if the sandbox made the job's result. */
export const isSandboxJob = (job: Job): boolean =>
  job.metadata !== null && (JSON.parse(job.metadata) as { sandbox?: unknown }).sandbox === true;

export const isTerminal = (job: Job): boolean => job.status === 'done' || job.status === 'failed';

/**
 * Makes the event that announces a job's end: the terminal job without its prompt, callback address and amounts
 * (docs/contract.md, "Webhooks"). `result` has the image data items of a done job. Null for a job without a callback.
 */
export const toWebhookEvent = (
  job: Job,
  { result, ...end }: Pick<Job, 'status' | 'error' | 'finishedAt'> & { result: Json },
): { eventId: string; body: string } | null => {
  if (job.webhookUrl === null) return null;
  const eventId = newId();
  return { eventId, body: toJsonText({ event_id: eventId, ...jobMembers({ ...job, ...end }, result) }) };
};
