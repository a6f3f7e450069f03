import { AppError, type ErrorEnvelope } from '../kit/errors.ts';
import { ProviderError, type ProviderErrorCode } from '../providers/provider-error.ts';
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
    'The model provider does not accept this request. Nothing was charged. Check its parameters.',
};

const longestExplanation = 1_000;

const toPublicError = (error: ProviderError): ErrorEnvelope => {
  const explanation = error.code === 'content_policy_violation' ? error.explanation : undefined;
  return new AppError(
    error.code,
    explanation?.slice(0, longestExplanation) ?? publicText[error.code],
  ).toEnvelope();
};

/** Converts a ProviderError into a job's end. Rethrows anything else. */
export const toFailedOutcome = (thrown: unknown): JobOutcome & { status: 'failed' } => {
  if (!(thrown instanceof ProviderError)) throw thrown;
  return { status: 'failed', error: toPublicError(thrown), metadata: {} };
};
