import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from './log.ts';

export interface RepeatOptions {
  /** Names the work in the log, as in "ending dead jobs". */
  what: string;
  intervalMs: number;
  signal: AbortSignal;
  log: Log;
  work: () => Promise<void> | void;
}

/** Runs `work` now, and again `intervalMs` after each end, until `signal` aborts. Logs failures before the abort. */
export const repeat = async ({ what, intervalMs, signal, log, work }: RepeatOptions): Promise<void> => {
  while (!signal.aborted) {
    try {
      await work();
    } catch (error) {
      if (!signal.aborted) log.error({ err: error }, `${what} failed`);
    }
    await pause(intervalMs, signal);
  }
};

/** Waits `ms`, or until `signal` aborts. The process stays alive for it only with `keepsAlive`. */
export const pause = async (
  ms: number,
  signal?: AbortSignal,
  { keepsAlive = false }: { keepsAlive?: boolean } = {},
): Promise<void> => {
  try {
    await delay(ms, undefined, { ref: keepsAlive, ...(signal === undefined ? {} : { signal }) });
  } catch (error) {
    if (signal?.aborted !== true) throw error;
  }
};

/** Runs `act` at most once in `intervalMs`, and counts the calls between: an outage would repeat a line of the log. */
export const throttle = <T>(
  intervalMs: number,
  act: (value: T, leftOut: number) => void,
  nowMs: () => number = () => performance.now(),
): ((value: T) => void) => {
  let lastMs = -Infinity;
  let leftOut = 0;
  return (value) => {
    const now = nowMs();
    if (now - lastMs < intervalMs) {
      leftOut += 1;
      return;
    }
    act(value, leftOut);
    lastMs = now;
    leftOut = 0;
  };
};

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
  jobId?: string;
  log: Log;
  /** Ends the retries; its reason is thrown. */
  signal?: AbortSignal;
}

/** Repeats an idempotent write while it fails, ten minutes at most. Throws its last error, or LeaseLostError at once. */
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
