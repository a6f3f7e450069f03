import type { AppError } from './errors.ts';
import type { Log } from './log.ts';

export interface FailedCall {
  /** Names the kind of call in the log, as in "a tool call". */
  what: string;
  /** Identify the call. */
  facts: Record<string, unknown>;
  /** True if the client has gone. Then the failure is not a fault. */
  isClientGone?: boolean;
}

/**
 * Logs a call that failed with a 5xx, once. A 503 is an outage, a full queue or an open settlement: a warning. All others are
 * errors.
 */
export const logFailure = (
  log: Log,
  error: AppError,
  { what, facts, isClientGone = false }: FailedCall,
): void => {
  if (error.status < 500 || error.isLogged) return;
  const isPutOff = error.status === 503;
  const cause = error.cause ?? (isPutOff ? undefined : error);
  log[isClientGone ? 'debug' : isPutOff ? 'warn' : 'error'](
    { ...facts, code: error.code, ...(cause === undefined ? {} : { err: cause }) },
    `${what} ${isPutOff ? 'was put off' : 'failed'}`,
  );
};
