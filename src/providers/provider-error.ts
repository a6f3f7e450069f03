/**
 * The class of a failed upstream call, which tells the router what it may do.
 * retry_same: the call did nothing for sure (connection refused, 408, 5xx before any output, short 429).
 * retry_other: this route cannot serve the call (our quota or key there, model missing, breaker open).
 * fatal: the request itself is wrong (400, 413, 422, content policy); it would fail on every route.
 * ambiguous: the call may have been carried out (time-out or reset after the request was written).
 */
export type ProviderFailure = 'retry_same' | 'retry_other' | 'fatal' | 'ambiguous';

export type ProviderErrorCode =
  | 'upstream_error'
  | 'upstream_unavailable'
  | 'content_policy_violation'
  | 'rate_limit_exceeded'
  | 'invalid_parameter';

export interface ProviderErrorOptions {
  failure: ProviderFailure;
  /** `upstream_error` by default. */
  code?: ProviderErrorCode;
  /** The provider's explanation of a refusal by its content policy, shown to the customer. */
  explanation?: string | undefined;
  retryAfterMs?: number | undefined;
  /** The member of the request that the model does not take, or not with this value. */
  parameter?: string | undefined;
  cause?: unknown;
}

const longestCause = 500;

/** The last failure of another provider that was asked for the same request before. */
export interface EarlierFailure {
  provider: string;
  model: string;
  code: ProviderErrorCode;
  reason: string;
}

/** A failed upstream call. The message is for the log; customers see a fixed text by `code`. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';
  readonly failure: ProviderFailure;
  readonly code: ProviderErrorCode;
  readonly explanation: string | undefined;
  readonly retryAfterMs: number | undefined;
  readonly parameter: string | undefined;
  /** The route that failed, and which attempt of the request that was. The router sets it. */
  asked: { provider: string; model: string; attempts: number; earlier?: EarlierFailure[] } | undefined;
  /** No upstream took the call, and every route rests: a queued job can wait. The router sets it. */
  everyRouteRests = false;

  constructor(message: string, options: ProviderErrorOptions) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.failure = options.failure;
    this.code = options.code ?? 'upstream_error';
    this.explanation = options.explanation;
    this.retryAfterMs = options.retryAfterMs;
    this.parameter = options.parameter;
  }

  /** The request is at fault, at least for this route; the provider is not. */
  get isOfRequest(): boolean {
    return this.failure === 'fatal' || this.code === 'invalid_parameter';
  }

  /** Returns the facts for a line of the log. They have no stack, because the fault is not in this program. */
  facts(): object {
    const { asked, failure, code, message: reason, cause } = this;
    return {
      ...asked,
      failure,
      code,
      reason,
      ...(cause instanceof Error ? { cause: cause.message.slice(0, longestCause) } : {}),
    };
  }
}
