import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { rounded } from './statistics.ts';

/** How the main thread was held, in milliseconds. */
export interface LoopDelay {
  /** By how much its timers came late, for whatever reason. */
  p99: number;
  max: number;
  /**
   * The most processor time that the thread used between two timers of a millisecond: at least its longest stretch
   * of work, and no more than that when it merely waited for a core.
   */
  longestWork: number;
}

const resolutionMs = 1;
const nanosecondsPerMs = 1e6;

/** Runs `work` and tells how the main thread was held meanwhile. */
export const withLoopDelay = async <T>(work: () => Promise<T>): Promise<{ result: T; delay: LoopDelay }> => {
  const histogram = monitorEventLoopDelay({ resolution: resolutionMs });
  const stretches = watchStretches();
  histogram.enable();
  try {
    const result = await work();
    const held = { p99: late(histogram.percentile(99)), max: late(histogram.max) };
    return { result, delay: { ...held, longestWork: rounded(stretches.longestMs()) } };
  } finally {
    histogram.disable();
    stretches.end();
  }
};

/** The histogram holds the whole time between two timers. */
const late = (nanoseconds: number): number =>
  rounded(Math.max(0, nanoseconds / nanosecondsPerMs - resolutionMs));

const watchStretches = (): { longestMs(): number; end(): void } => {
  let longestMs = 0;
  let last = process.threadCpuUsage();
  const timer = setInterval(() => {
    const now = process.threadCpuUsage();
    longestMs = Math.max(longestMs, (now.user + now.system - last.user - last.system) / 1000);
    last = now;
  }, resolutionMs);
  return { longestMs: () => longestMs, end: () => clearInterval(timer) };
};

const idleMs = 3000;

/** The same while nothing is done: what the machine and its other processes add by themselves. */
export const measureIdleDelay = async (): Promise<LoopDelay> =>
  (await withLoopDelay(() => delay(idleMs))).delay;
