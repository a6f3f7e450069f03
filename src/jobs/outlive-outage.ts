import type { Log } from '../kit/log.ts';
import { pause } from '../kit/repeat.ts';

/** How long an outage of the store, or of where media are kept, is waited out: what is written was paid for upstream. */
const giveUpAfterMs = 600_000;
const longestPauseMs = 5_000;

/** The job is not ours to end any more: its lease ran out and another worker has it. */
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
  /** Ends the repeating; throws its reason then. */
  signal?: AbortSignal;
}

/**
 * Does a write that may be repeated, again and again while it fails, for ten minutes at most. Throws LeaseLostError at
 * once, and at last what the write throws.
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
