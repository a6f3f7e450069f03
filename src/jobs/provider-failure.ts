import { AppError, type ErrorEnvelope } from '../kit/errors.ts';
import type { JsonObject } from '../kit/json.ts';
import type { Log } from '../kit/log.ts';
import { ProviderError, type ProviderErrorCode } from '../providers/provider-error.ts';
import type { Job } from '../store/store.ts';
import type { JobOutcome } from './executor.ts';

/** Fixed public texts. An upstream's own words never reach a customer, except in a refusal by its content policy. */
const publicText: Record<ProviderErrorCode, string> = {
  upstream_error: 'The model provider failed to answer this request. It was not charged. Try again.',
  upstream_unavailable:
    'No provider can serve this model at the moment. Nothing was charged. Try again shortly.',
  content_policy_violation:
    'The request was refused by the content policy. Nothing was charged. Change the prompt.',
  rate_limit_exceeded: 'The model is receiving too many requests. Nothing was charged. Try again shortly.',
  invalid_parameter:
    'The model provider does not accept this request. Nothing was charged. Check its parameters and its size.',
};

const longestExplanation = 1_000;

const toPublicError = (error: ProviderError): ErrorEnvelope => {
  const explanation = error.code === 'content_policy_violation' ? error.explanation : undefined;
  return new AppError(
    error.code,
    explanation?.slice(0, longestExplanation) ?? publicText[error.code],
  ).toEnvelope();
};

/** The end of a job that no upstream took until its deadline. */
export const unserved: ErrorEnvelope = new AppError(
  'upstream_unavailable',
  publicText.upstream_unavailable,
).toEnvelope();

/** True if no upstream took a call, and none takes one now. */
export const everyRouteRests = (thrown: unknown): boolean =>
  thrown instanceof ProviderError && thrown.everyRouteRests;

/** Converts a ProviderError into a job's end, and logs it. Rethrows anything else, which the job runner logs as a fault. */
export const toFailedOutcome = (
  thrown: unknown,
  { log, job: { id, kind, model }, requestId }: { log: Log; job: Job; requestId?: string | undefined },
): JobOutcome & { status: 'failed' } => {
  if (!(thrown instanceof ProviderError)) throw thrown;
  log.warn({ requestId, jobId: id, sku: model, ...thrown.facts() }, `a job failed upstream: ${kind}`);
  const { asked, retryAfterMs } = thrown;
  const failedProviders = (asked?.earlier ?? []).map(({ provider }) => provider);
  // A wrong request says nothing about the provider.
  if (asked !== undefined && !thrown.isOfRequest) failedProviders.push(asked.provider);
  const metadata: JsonObject = failedProviders.length === 0 ? {} : { failedProviders };
  if (retryAfterMs !== undefined) metadata['retryAfterMs'] = retryAfterMs;
  return { status: 'failed', error: toPublicError(thrown), metadata };
};
