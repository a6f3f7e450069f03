import type { AppError } from './errors.ts';

/** Seconds of `Retry-After` for a refusal that does not know better; every 429 and 503 carries one. */
const defaultRetryAfterSeconds = 5;

/** The HTTP headers of a refusal, on any transport; lower case names. */
export const errorHeaders = (error: AppError): Record<string, string> => {
  const isTemporary = error.status === 429 || error.status === 503;
  const seconds = error.retryAfterSeconds ?? (isTemporary ? defaultRetryAfterSeconds : undefined);
  return {
    'cache-control': 'no-store',
    ...error.headers,
    ...(seconds === undefined ? {} : { 'retry-after': String(Math.max(1, Math.ceil(seconds))) }),
  };
};
