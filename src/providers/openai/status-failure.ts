import { ProviderError, type ProviderErrorCode, type ProviderFailure } from '../provider-error.ts';

/** An error answer in OpenAI's form. A member that the upstream does not send is null or empty. */
export interface ErrorAnswer {
  /** Undefined for an error in the middle of a stream. */
  status: number | undefined;
  code: string | null;
  type: string | null;
  message: string;
  retryAfterMs: number | undefined;
}

/** Codes of a wrong key, model or quota at one upstream. Another route may still serve the request. */
const wrongRoute = new Set([
  'model_not_found',
  'insufficient_quota',
  'billing_not_active',
  'invalid_api_key',
]);

/** Maps an upstream's error answer to the failure for the router and the customer. */
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

/** Returns the text of an error answer for the log. */
export const forLog = ({ code, type, message }: Pick<ErrorAnswer, 'code' | 'type' | 'message'>): string =>
  [code, type, message.slice(0, 500)].filter((part) => part !== null && part !== '').join(', ');

/** Codes and types of refusals by a content policy. */
const moderationCodes = new Set([
  'content_policy_violation',
  'content_filter',
  'moderation_blocked',
  'content_blocked',
  'safety_violation',
]);

const maxExplanationLength = 500;

export const isModeration = ({ code, type }: { code: string | null; type: string | null }): boolean =>
  (code !== null && moderationCodes.has(code)) || (type !== null && moderationCodes.has(type));

/** Returns the upstream's explanation without sentences that name it, its addresses or its request ids; may be empty. */
export const moderationExplanation = (message: string): string =>
  (message.slice(0, 4 * maxExplanationLength).match(/[^.!?]+(?:[.!?](?!\s|$)[^.!?]*)*[.!?]*/gu) ?? [])
    .map((sentence) => sentence.trim())
    .filter(
      (sentence) =>
        !/https?:|www\.|\S@\S|\breq_|request id|openai|azure|google|gemini|microsoft|support/i.test(sentence),
    )
    .join(' ')
    .slice(0, maxExplanationLength)
    .toWellFormed();
