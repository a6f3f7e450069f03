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
