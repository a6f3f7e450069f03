import type { AppError } from './errors.ts';

/** Every 429 and 503 has a `Retry-After`, in seconds. */
const defaultRetryAfterSeconds = 5;

/** Makes the HTTP headers of a refusal, for any transport; lower case names. */
export const errorHeaders = (error: AppError): Record<string, string> => {
  const isTemporary = error.status === 429 || error.status === 503;
  const seconds = error.retryAfterSeconds ?? (isTemporary ? defaultRetryAfterSeconds : undefined);
  return {
    'cache-control': 'no-store',
    ...error.headers,
    ...(seconds === undefined ? {} : { 'retry-after': String(Math.max(1, Math.ceil(seconds))) }),
  };
};
