import { retryAfterMs } from '../../kit/retry-after-ms.ts';
import { forLog, isModeration, moderationExplanation, toStatusFailure } from '../openai/status-failure.ts';
import { ProviderError } from '../provider-error.ts';
import type { UpstreamAnswer } from './video-upstream.ts';

/** An error of an upstream, from an answer's `error` or a failed task's. */
interface UpstreamComplaint {
  code: string | null;
  type: string | null;
  message: string;
}

/** Statuses of proxies whose upstream may have begun a task. */
const maybeBegun = new Set([408, 502, 504]);
/** Beginnings of codes that concern our account at the upstream, not the request. */
const ourAccount =
  /^(?:AccountOverdue|AccessDenied|OperationDenied|InvalidEndpoint|InvalidSubscription|ModelNotOpen|QuotaExceeded|SetLimitExceeded|UnsupportedModel|insufficient_)/;
const moderated = /Sensitive|RiskDetection|PolicyViolation/;
const upstreamNames = /byteplus|volc|\bark\b|modelark|doubao|seedance/i;

/** Maps a refusal to begin a task to the failure for the router. */
export const toStartFailure = (answer: UpstreamAnswer): ProviderError => {
  const complaint = complaintIn(answer.value);
  const { status } = answer;
  if (isModerated(complaint)) return refused(complaint);
  if (maybeBegun.has(status))
    return new ProviderError(`the upstream answered ${status}, and may have begun: ${forLog(complaint)}`, {
      failure: 'ambiguous',
    });
  if (complaint.code !== null && ourAccount.test(complaint.code))
    return new ProviderError(`the upstream does not serve us: ${forLog(complaint)}`, {
      failure: 'retry_other',
      code: 'upstream_unavailable',
    });
  const retryMs = retryAfterMs(answer.headers['retry-after'], Date.now());
  return toStatusFailure({ ...complaint, status, retryAfterMs: retryMs });
};

/** Maps an answer other than 200 about a begun task. Only an unknown task ends the job. */
export const toPollFailure = (answer: UpstreamAnswer): ProviderError => {
  const { status } = answer;
  const isGone = status === 404 || status === 410;
  return new ProviderError(`the upstream answered ${status}: ${forLog(complaintIn(answer.value))}`, {
    failure: isGone ? 'fatal' : 'retry_same',
    code: status === 429 ? 'rate_limit_exceeded' : 'upstream_error',
  });
};

/** Maps the error of a failed task to the failure for the customer. */
export const toTaskFailure = (error: unknown): ProviderError => {
  const complaint = complaintIn({ error });
  if (isModerated(complaint)) return refused(complaint);
  const isOurRequest = /^invalid_?(?:parameter|value|request)/i.test(complaint.code ?? '');
  return new ProviderError(`the upstream's task failed: ${forLog(complaint)}`, {
    failure: 'fatal',
    code: isOurRequest ? 'invalid_parameter' : 'upstream_error',
  });
};

/** Makes the failure for an answer of an unexpected form. For a start it is ambiguous: the task may exist. */
export const unreadable = (message: string, failure: 'ambiguous' | 'retry_same'): ProviderError =>
  new ProviderError(message, { failure });

const isModerated = (complaint: UpstreamComplaint): boolean =>
  isModeration(complaint) || moderated.test(complaint.code ?? '');

const refused = (complaint: UpstreamComplaint): ProviderError => {
  const explanation = moderationExplanation(complaint.message);
  const isShown = explanation !== '' && !upstreamNames.test(explanation);
  return new ProviderError(`the upstream refused the request: ${forLog(complaint)}`, {
    failure: 'fatal',
    code: 'content_policy_violation',
    ...(isShown ? { explanation } : {}),
  });
};

/** Finds the error in `{error: {...}}`, `{error: "..."}` or `{code, message}`; empty members where there is none. */
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
