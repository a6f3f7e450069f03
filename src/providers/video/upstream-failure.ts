import { retryAfterMs } from '../../kit/retry-after-ms.ts';
import { isModeration, moderationExplanation } from '../openai/moderation.ts';
import { toStatusFailure } from '../openai/status-failure.ts';
import { ProviderError } from '../provider-error.ts';
import type { UpstreamAnswer } from './video-upstream.ts';

/** An error as upstreams tell it, in an answer's `error` or in a failed task's. */
export interface UpstreamComplaint {
  code: string | null;
  type: string | null;
  message: string;
}

/** Answers of proxies whose upstream may have begun a task. */
const unclear = new Set([408, 502, 504]);
/** Codes, by how they begin, that say something of our account there and nothing of the request. */
const ourAccount =
  /^(?:AccountOverdue|AccessDenied|OperationDenied|InvalidEndpoint|InvalidSubscription|ModelNotOpen|QuotaExceeded|SetLimitExceeded|UnsupportedModel|insufficient_)/;
const moderated = /Sensitive|RiskDetection|PolicyViolation/;
const upstreamNames = /byteplus|volc|\bark\b|modelark|doubao|seedance/i;

/** What a refusal to begin a task means to the router. */
export const toStartFailure = (answer: UpstreamAnswer): ProviderError => {
  const complaint = complaintIn(answer.value);
  const { status } = answer;
  if (isModerated(complaint)) return refused(complaint);
  if (unclear.has(status))
    return new ProviderError(`the upstream answered ${status}, and may have begun: ${forLog(complaint)}`, {
      failure: 'ambiguous',
      code: 'upstream_error',
    });
  if (complaint.code !== null && ourAccount.test(complaint.code))
    return new ProviderError(`the upstream does not serve us: ${forLog(complaint)}`, {
      failure: 'retry_other',
      code: 'upstream_unavailable',
    });
  const retryMs = retryAfterMs(answer.headers['retry-after'], Date.now());
  return toStatusFailure({ ...complaint, status, retryAfterMs: retryMs });
};

/** What an answer other than 200 to a question about a begun task means. Only an unknown task is the task's end. */
export const toPollFailure = (answer: UpstreamAnswer): ProviderError => {
  const { status } = answer;
  const isGone = status === 404 || status === 410;
  return new ProviderError(`the upstream answered ${status}: ${forLog(complaintIn(answer.value))}`, {
    failure: isGone ? 'fatal' : 'retry_same',
    code: status === 429 ? 'rate_limit_exceeded' : 'upstream_error',
  });
};

/** What the error of a failed task means to the customer. */
export const toTaskFailure = (error: unknown): ProviderError => {
  const complaint = complaintIn({ error });
  if (isModerated(complaint)) return refused(complaint);
  const isOurRequest = /^invalid_?(?:parameter|value|request)/i.test(complaint.code ?? '');
  return new ProviderError(`the upstream's task failed: ${forLog(complaint)}`, {
    failure: 'fatal',
    code: isOurRequest ? 'invalid_parameter' : 'upstream_error',
  });
};

/** An answer that is not of the upstream's form. For a start it is ambiguous: the task may exist. */
export const unreadable = (message: string, failure: 'ambiguous' | 'retry_same'): ProviderError =>
  new ProviderError(message, { failure, code: 'upstream_error' });

const isModerated = (complaint: UpstreamComplaint): boolean =>
  isModeration(complaint) || moderated.test(complaint.code ?? '');

const refused = (complaint: UpstreamComplaint): ProviderError => {
  const explanation = moderationExplanation(complaint.message);
  const isFit = explanation !== '' && !upstreamNames.test(explanation);
  return new ProviderError(`the upstream refused the request: ${forLog(complaint)}`, {
    failure: 'fatal',
    code: 'content_policy_violation',
    ...(isFit ? { explanation } : {}),
  });
};

/** The error in `{error: {...}}`, `{error: "..."}` or `{code, message}`; empty where there is none. */
const complaintIn = (value: unknown): UpstreamComplaint => {
  const body = asObject(value);
  const inner = body['error'];
  if (typeof inner === 'string') return { code: null, type: null, message: inner };
  const error = inner === undefined || inner === null ? body : asObject(inner);
  return {
    code: asText(error['code']),
    type: asText(error['type']),
    message: asText(error['message']) ?? '',
  };
};

const asObject = (value: unknown): Record<string, unknown> =>
  value !== null && typeof value === 'object' ? { ...value } : {};

const asText = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

const forLog = ({ code, type, message }: UpstreamComplaint): string =>
  [code, type, message.slice(0, 500)].filter((part) => part !== null && part !== '').join(', ');
