import { ProviderError, type ProviderErrorCode, type ProviderFailure } from '../provider-error.ts';
import { isModeration, moderationExplanation } from './moderation.ts';

/** An error answer in OpenAI's shape, as far as the upstream keeps to it. */
export interface ErrorAnswer {
  /** Undefined for an error in the middle of a stream. */
  status: number | undefined;
  code: string | null;
  type: string | null;
  message: string;
  retryAfterMs: number | undefined;
}

/** A key, a model or a quota that is wrong there says nothing about another route. */
const wrongRoute = new Set([
  'model_not_found',
  'insufficient_quota',
  'billing_not_active',
  'invalid_api_key',
]);

/** What an upstream's error answer means to the router and to the customer. */
export const toStatusFailure = (answer: ErrorAnswer): ProviderError => {
  const explanation = isModeration(answer) ? moderationExplanation(answer.message) : undefined;
  const [failure, code] = explanation === undefined ? classify(answer) : moderated;
  return new ProviderError(`the upstream answered ${answer.status ?? 'in its stream'}: ${forLog(answer)}`, {
    failure,
    code,
    ...(explanation === undefined || explanation === '' ? {} : { explanation }),
    ...(answer.retryAfterMs === undefined ? {} : { retryAfterMs: answer.retryAfterMs }),
  });
};

const moderated = ['fatal', 'content_policy_violation'] as const;

const classify = ({ status, code, type }: ErrorAnswer): readonly [ProviderFailure, ProviderErrorCode] => {
  if (code !== null && wrongRoute.has(code)) return ['retry_other', 'upstream_unavailable'];
  if (type === 'insufficient_quota') return ['retry_other', 'upstream_unavailable'];
  if (status === undefined) return ['ambiguous', 'upstream_error'];
  if (status === 400 || status === 413 || status === 422) return ['fatal', 'invalid_parameter'];
  if (status === 429) return ['retry_same', 'rate_limit_exceeded'];
  if (status === 503) return ['retry_same', 'upstream_unavailable'];
  if (status === 408 || status === 409 || status >= 500) return ['retry_same', 'upstream_error'];
  return ['retry_other', 'upstream_unavailable'];
};

const forLog = ({ code, type, message }: ErrorAnswer): string =>
  [code, type, message.slice(0, 500)].filter((part) => part !== null && part !== '').join(', ');
