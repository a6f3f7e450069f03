/**
 * What the router may do about a failed upstream call.
 * retry_same: it surely did nothing (connection refused, 408, 5xx before any output, short 429).
 * retry_other: this route cannot serve it (our quota or key there, model missing, breaker open).
 * fatal: the request itself is at fault (400, 413, 422, content policy); no route will do better.
 * ambiguous: it may have been carried out (time-out or reset after the request was written).
 */
export type ProviderFailure = 'retry_same' | 'retry_other' | 'fatal' | 'ambiguous';

/** The public face of an upstream failure. */
export type ProviderErrorCode =
  | 'upstream_error'
  | 'upstream_unavailable'
  | 'content_policy_violation'
  | 'rate_limit_exceeded'
  | 'invalid_parameter';

export interface ProviderErrorOptions {
  failure: ProviderFailure;
  code: ProviderErrorCode;
  /** Only for a moderated refusal: the provider's own explanation, shown to the customer. */
  explanation?: string;
  /** How long the upstream asked us to wait. */
  retryAfterMs?: number;
  cause?: unknown;
}

/** An upstream call that failed. The message is for the log; customers see fixed text by `code`. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';
  readonly failure: ProviderFailure;
  readonly code: ProviderErrorCode;
  readonly explanation: string | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(message: string, options: ProviderErrorOptions) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.failure = options.failure;
    this.code = options.code;
    this.explanation = options.explanation;
    this.retryAfterMs = options.retryAfterMs;
  }
}
