import type { Log } from './log.ts';
import { pause } from './repeat.ts';

/** Long, because the upstream was already paid for the result that is written. */
const giveUpAfterMs = 600_000;
const longestPauseMs = 5_000;

/** The job's lease expired, and another worker may have the job. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError';

  constructor(jobId: string) {
    super(`the lease of job ${jobId} was lost`);
  }
}

export interface OutliveOptions {
  /** For the log, as in "writing the end of a job". */
  what: string;
  jobId: string;
  log: Log;
  /** Ends the retries; its reason is thrown. */
  signal?: AbortSignal;
}

/**
 * Repeats an idempotent write while it fails, for ten minutes at most. Throws LeaseLostError at once, and the write's
 * last error in the end.
 */
export const outliveOutage = async <T>(
  write: () => Promise<T>,
  { what, jobId, log, signal }: OutliveOptions,
): Promise<T> => {
  const giveUpAt = performance.now() + giveUpAfterMs;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await write();
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof LeaseLostError || performance.now() > giveUpAt) throw error;
      log.warn({ err: error, jobId, attempt }, `${what} failed; trying again`);
      await pause(Math.min(50 * 2 ** attempt, longestPauseMs), signal);
      signal?.throwIfAborted();
    }
  }
};
