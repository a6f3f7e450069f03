import type { AppError } from './errors.ts';
import type { Log } from './log.ts';

export interface FailedCall {
  /** For the text of the line, as in "a tool call". */
  what: string;
  /** Names the call. */
  facts: Record<string, unknown>;
  /** Work that ends because its client has gone is no fault. */
  isClientGone?: boolean;
}

/**
 * Logs a call that the service could not serve (5xx). 503 tells of an outage, a full queue or an open settlement: a warning.
 * The rest are faults.
 */
export const logFailure = (
  log: Log,
  error: AppError,
  { what, facts, isClientGone = false }: FailedCall,
): void => {
  if (error.status < 500) return;
  const isPutOff = error.status === 503;
  const cause = error.cause ?? (isPutOff ? undefined : error);
  log[isClientGone ? 'debug' : isPutOff ? 'warn' : 'error'](
    { ...facts, code: error.code, ...(cause === undefined ? {} : { err: cause }) },
    `${what} ${isPutOff ? 'was put off' : 'failed'}`,
  );
};
