import { retryAfterMs } from '../../kit/retry-after-ms.ts';
import { OutboundError } from '../../http/outbound.ts';
import { ProviderError } from '../provider-error.ts';
import { toTransportFailure } from '../transport-failure.ts';
import { toStatusFailure } from './status-failure.ts';

/**
 * Maps what the client threw to what is thrown on: the caller's abort reason, a ProviderError (made from a failure of
 * our fetch or from an error answer), or an unknown fault of an upstream that did answer.
 */
export const toProviderFailure = async (thrown: unknown, signal: AbortSignal): Promise<unknown> => {
  if (signal.aborted) return signal.reason;
  const own = ownFailure(thrown);
  if (own !== null) return own;
  const { APIError, OpenAIError } = await import('openai');
  if (thrown instanceof APIError && (thrown.status !== undefined || thrown.error !== undefined))
    return toStatusFailure({
      status: thrown.status ?? statusIn(thrown.error),
      code: textOf(thrown.code),
      type: textOf(thrown.type),
      message: messageIn(thrown.error) ?? thrown.message,
      retryAfterMs: restMs(thrown.headers),
    });
  if (thrown instanceof OpenAIError || thrown instanceof SyntaxError)
    return new ProviderError('the upstream answer is not of the expected form', {
      failure: 'ambiguous',
      cause: thrown,
    });
  return thrown;
};

/** A failure that our fetch threw; the package wraps what comes before the headers. */
const ownFailure = (thrown: unknown): unknown => {
  let error = thrown;
  for (let depth = 0; depth < 4 && error instanceof Error; depth += 1) {
    if (error instanceof ProviderError || error instanceof OutboundError) return toTransportFailure(error);
    error = error.cause;
  }
  return null;
};

/** The upstream's own words, without the status that the package puts before them. */
const messageIn = (error: unknown): string | null =>
  error !== null && typeof error === 'object' && 'message' in error ? textOf(error.message) : null;

/** Some upstreams put the status into `code` of an error in the stream. */
const statusIn = (error: unknown): number | undefined => {
  const code: unknown =
    error !== null && typeof error === 'object' && 'code' in error ? error.code : undefined;
  return typeof code === 'number' && code >= 400 && code <= 599 ? code : undefined;
};

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);

/** `Retry-After`, or OpenAI's own `retry-after-ms`; undefined when there is none to believe. */
const restMs = (headers: Headers | undefined): number | undefined => {
  const exact = Number(headers?.get('retry-after-ms') ?? Number.NaN);
  if (Number.isFinite(exact) && exact >= 0) return exact;
  return retryAfterMs(headers?.get('retry-after'), Date.now());
};
