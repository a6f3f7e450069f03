import { isoOrNull, toIso } from '../kit/clock.ts';
import { newId } from '../kit/ids.ts';
import { type Json, type JsonObject, parseVerbatim, toJsonText } from '../kit/json.ts';
import { formatUsd, type Nano } from '../kit/money.ts';
import type { ServedRoute } from '../providers/route-attempts.ts';
import type { Job } from '../store/store.ts';

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

/** Makes the public form of a job (docs/contract.md, "Jobs") with the current amounts. */
export const toPublicJob = (job: Job, available: Nano): JsonObject => {
  const result = resultOf(job);
  return {
    ...jobMembers(job, result),
    usage: {
      ...(job.holdState === 'open' ? {} : { cost_usd: formatUsd(job.charged) }),
      balance_remaining_usd: formatUsd(available),
    },
    ...(isAnswered(job) && result !== null ? { response: result } : {}),
    ...(isSandboxJob(job) ? { metadata: { sandbox: true } } : {}),
  };
};

/** Null also for an answer that is withheld until its payment is settled. */
const resultOf = ({ status, result, unpaidBy }: Job): Json =>
  status === 'done' && result !== null && unpaidBy === null ? (JSON.parse(result) as Json) : null;

/** Returns the caller's data. `toJsonText` writes it exactly as it was sent. */
export const customDataOf = ({ customData }: Pick<Job, 'customData'>): JsonObject =>
  customData === null ? {} : parseVerbatim(customData);

/** Its result is the answer of its call, which may not have reached the caller. */
const isAnswered = ({ kind }: Job): boolean => ['chat', 'responses', 'tool'].includes(kind);

export const isSandboxJob = (job: Job): boolean => metadataOf(job).sandbox === true;

/** Returns the name of the provider that made the job's result; null if there is none. */
export const providerOf = (job: Job): string | null => metadataOf(job).provider ?? null;

/** Returns the names of the providers that failed, in the order in which they were asked. */
export const failedProvidersOf = (job: Job): string[] => metadataOf(job).failedProviders ?? [];

/** Returns how long after a failure the upstreams rest, as far as they or their breakers said; else 0. */
export const retryAfterMsOf = (job: Job): number => metadataOf(job).retryAfterMs ?? 0;

interface KeptMetadata {
  sandbox?: boolean;
  provider?: string;
  failedProviders?: string[];
  retryAfterMs?: number;
}

const metadataOf = ({ metadata }: Job): KeptMetadata => (metadata === null ? {} : JSON.parse(metadata));

/** Returns the part of a done job's metadata that says which providers were asked. */
export const madeBy = ({ isSandbox, provider, failedProviders }: Omit<ServedRoute, 'model'>): JsonObject => ({
  sandbox: isSandbox,
  provider,
  ...(failedProviders === undefined ? {} : { failedProviders }),
});

export const isTerminal = (job: Job): boolean => job.status === 'done' || job.status === 'failed';

/** Returns the form that the event of an image's end has: the job without its prompt, callback address and amounts. */
const toJobEvent = (job: Job): JsonObject => jobMembers(job, resultOf(job));

/** Makes the event that announces a job's end (docs/contract.md, "Webhooks"). Null for a job without a callback. */
export const toWebhookEvent = (
  ended: Job,
  toBody: (job: Job) => JsonObject = toJobEvent,
): { eventId: string; body: string } | null => {
  if (ended.webhookUrl === null) return null;
  const eventId = newId();
  return { eventId, body: toJsonText({ event_id: eventId, ...toBody(ended) }) };
};
