import { type AnswerHead, retryAfterMs } from '../http/send-request.ts';
import { sanitizeLine } from '../kit/text.ts';
import { ProviderError, type ProviderErrorCode, type ProviderFailure } from './provider-error.ts';

export interface UpstreamAnswer extends AnswerHead {
  text: string;
  /** The parsed JSON; undefined when the text is none. */
  value: unknown;
}

/** An error of an upstream, from an answer, a stream or a failed task. A member that it does not send is null or empty. */
interface Complaint {
  code: string | null;
  type: string | null;
  message: string;
  parameter?: string | undefined;
  /** With status 403: a moderation flagged the prompt. */
  isFlagged: boolean;
}

/** Codes and types of a wrong key, model or quota at one upstream. Another route may still serve the request. */
const wrongRoute = new Set<string | null>([
  'model_not_found',
  'model_decommissioned',
  'invalid_model',
  'insufficient_quota',
  'billing_not_active',
  'billing_hard_limit_reached',
  'invalid_api_key',
]);
/** What Gemini, xAI, Anthropic, DeepSeek and OpenRouter say of the same, or of our place, by status 400 alone. */
const wrongRouteWords =
  /^(?:API [Kk]ey (?:not (?:valid|found)|expired)|Incorrect API key provided|Your credit balance is too low|You have reached your specified API usage limits|User location is not supported|Model Not Exist|\S+ is not a valid model ID)/;

/** Maps an upstream's error answer to the failure for the router and the customer. */
export const toStatusFailure = (answer: UpstreamAnswer): ProviderError =>
  fromComplaint(complaintIn(answer.value), answer);

/** Maps an error in the middle of a stream. Some upstreams put the status into its `code`. */
export const toStreamFailure = (error: unknown, headers: AnswerHead['headers']): ProviderError => {
  const { code } = asObject(error);
  const status = typeof code === 'number' && code >= 400 && code <= 599 ? code : undefined;
  return fromComplaint(complaintIn({ error }), { status, headers });
};

const fromComplaint = (
  complaint: Complaint,
  { status, headers, text = '' }: Pick<AnswerHead, 'headers'> & { status: number | undefined; text?: string },
): ProviderError => {
  const said = forLog(complaint) || text.slice(0, maxLogged);
  const message = `the upstream answered ${status ?? 'with an error'}: ${said}`;
  if (isModeration(complaint) || (status === 403 && complaint.isFlagged)) return refusal(message, complaint);
  const [failure, code] = classify(complaint, status);
  const { parameter } = complaint;
  return new ProviderError(message, { failure, code, retryAfterMs: restMsIn(headers), parameter });
};

/** Makes the failure of a request that a content policy refused. */
const refusal = (message: string, complaint: Complaint): ProviderError =>
  new ProviderError(message, {
    failure: 'fatal',
    code: 'content_policy_violation',
    explanation: moderationExplanation(complaint.message) || undefined,
  });

/** OpenAI also answers 429 to a request that alone is above the limit of a minute. This route never takes it. */
const isTooLarge = ({ message }: Complaint): boolean => {
  const [, limit, requested] = /\bLimit (\d+),.*\bRequested (\d+)/s.exec(message.slice(0, 1_000)) ?? [];
  return message.startsWith('Request too large') || Number(requested) > Number(limit);
};

const classify = (
  complaint: Complaint,
  status: number | undefined,
): readonly [ProviderFailure, ProviderErrorCode] => {
  const { code, type, message } = complaint;
  if (wrongRoute.has(code) || wrongRoute.has(type) || wrongRouteWords.test(message))
    return ['retry_other', 'upstream_unavailable'];
  if (status === undefined) return ['ambiguous', 'upstream_error'];
  if (status === 400 || status === 413 || status === 422) return ['fatal', 'invalid_parameter'];
  if (status === 429 && isTooLarge(complaint)) return ['retry_other', 'invalid_parameter'];
  // OpenRouter's models that take no tools or pictures. One that it does not know is `No endpoints found for` a name.
  if (status === 404 && message.startsWith('No endpoints found that '))
    return ['retry_other', 'invalid_parameter'];
  if (status === 429) return ['retry_same', 'rate_limit_exceeded'];
  if (status === 503) return ['retry_same', 'upstream_unavailable'];
  if (status === 408 || status === 409 || status >= 500) return ['retry_same', 'upstream_error'];
  return ['retry_other', 'upstream_unavailable'];
};

/** `Retry-After`, or OpenAI's own `retry-after-ms`; undefined when there is none to believe. */
const restMsIn = (headers: AnswerHead['headers']): number | undefined => {
  const exact = Number(headers['retry-after-ms'] ?? Number.NaN);
  if (Number.isFinite(exact) && exact >= 0) return exact;
  return retryAfterMs(headers['retry-after'], Date.now());
};

/** Statuses of proxies whose upstream may have begun a task. */
const maybeBegun = new Set([408, 502, 504]);
/** Beginnings of codes that concern our account at the upstream, not the request. */
const ourAccount =
  /^(?:AccountOverdue|AccessDenied|OperationDenied|InvalidEndpoint|InvalidSubscription|ModelNotOpen|QuotaExceeded|SetLimitExceeded|UnsupportedModel|insufficient_)/;

/** Maps a refusal to begin a video task to the failure for the router. */
export const toStartFailure = (answer: UpstreamAnswer): ProviderError => {
  const { status, value } = answer;
  const complaint = complaintIn(value);
  if (isModeration(complaint)) return fromComplaint(complaint, answer);
  if (maybeBegun.has(status))
    return new ProviderError(`the upstream answered ${status}, and may have begun: ${forLog(complaint)}`, {
      failure: 'ambiguous',
    });
  if (ourAccount.test(complaint.code ?? ''))
    return new ProviderError(`the upstream does not serve us: ${forLog(complaint)}`, {
      failure: 'retry_other',
      code: 'upstream_unavailable',
    });
  return fromComplaint(complaint, answer);
};

/** Maps an answer other than 200 about a begun task. Only an unknown task ends the job. */
export const toPollFailure = ({ status, value }: { status: number; value?: unknown }): ProviderError => {
  const isGone = status === 404 || status === 410;
  return new ProviderError(`the upstream answered ${status}: ${forLog(complaintIn(value))}`, {
    failure: isGone ? 'fatal' : 'retry_same',
    code: status === 429 ? 'rate_limit_exceeded' : 'upstream_error',
  });
};

/** Maps the error of a failed task to the failure for the customer. */
export const toTaskFailure = (error: unknown): ProviderError => {
  const complaint = complaintIn({ error });
  const message = `the upstream's task failed: ${forLog(complaint)}`;
  if (isModeration(complaint)) return refusal(message, complaint);
  const isOurRequest = /^invalid_?(?:parameter|value|request)/i.test(complaint.code ?? '');
  return new ProviderError(message, {
    failure: 'fatal',
    code: isOurRequest ? 'invalid_parameter' : 'upstream_error',
  });
};

const maxLogged = 500;

const forLog = ({ code, type, message }: Complaint): string =>
  [code, type, message.slice(0, maxLogged)].filter((part) => part !== null && part !== '').join(', ');

/** Codes and types of refusals by a content policy. */
const moderationCodes = new Set<string | null>([
  'content_policy_violation',
  'content_filter',
  'contentFilter',
  'data_inspection_failed',
  'invalid_prompt',
  'moderation_blocked',
  'content_blocked',
  'safety_violation',
]);
/** Parts of such codes of ModelArk. */
const moderationPart = /Sensitive|RiskDetection|PolicyViolation/;

/** What DeepSeek and xAI say of the same without a code of its own; xAI also with status 403. */
const moderationWords =
  /^(?:Content Exists Risk|Content violates usage guidelines|Generated image rejected by content moderation)/;

const isModeration = ({ code, type, message }: Complaint): boolean =>
  moderationCodes.has(code) ||
  moderationCodes.has(type) ||
  moderationPart.test(code ?? '') ||
  moderationWords.test(message);

/** A sentence with one of these words is useless to the customer, or says too much. */
const notForCustomers =
  /https?:|www\.|\S@\S|\breq_|request id|api key|requires moderation|openai|azure|google|gemini|microsoft|support|byteplus|volc|\bark\b|modelark|doubao|seedance/i;

const maxExplanationLength = 500;

/**
 * Returns the upstream's explanation in one line, without sentences that name it, its addresses or its request ids; may be
 * empty.
 */
const moderationExplanation = (message: string): string =>
  (
    sanitizeLine(message.slice(0, 4 * maxExplanationLength).replaceAll(/\s+/g, ' ')).match(
      /[^.!?]+(?:[.!?](?!\s|$)[^.!?]*)*[.!?]*/gu,
    ) ?? []
  )
    .map((sentence) => sentence.trim())
    .filter((sentence) => !notForCustomers.test(sentence))
    .join(' ')
    .slice(0, maxExplanationLength)
    .toWellFormed();

/** xAI names a member that a model does not take in its message alone, as in `topP`. */
const refusedMember =
  /^(?:Argument not supported on this model: |Model \S+ does not support parameter )(\w+)/;

/** Finds the error in `{error: {...}}`, `{error: "..."}` or `{code, message}`. Gemini puts it into a list. */
const complaintIn = (value: unknown): Complaint => {
  const body = asObject(Array.isArray(value) ? value[0] : value);
  const inner = body['error'];
  const error = typeof inner === 'string' ? { message: inner } : asObject(inner ?? body);
  const message = asText(error['message']) ?? '';
  const code = asText(error['code']);
  const member = refusedMember
    .exec(message)?.[1]
    ?.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return {
    code,
    type: asText(error['type']),
    message,
    parameter: code?.startsWith('unsupported_') === true ? (asText(error['param']) ?? member) : member,
    // OpenRouter's form, whose code is the status.
    isFlagged:
      Array.isArray(asObject(error['metadata'])['reasons']) ||
      /requires moderation|input was flagged/i.test(message),
  };
};

const asObject = (value: unknown): Record<string, unknown> =>
  value !== null && typeof value === 'object' ? { ...value } : {};

const asText = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);
