import { hash, randomUUID } from 'node:crypto';

/** The uses of a bucket in its window, this use included. */
export interface WindowCount {
  count: number;
  msLeft: number;
}

export interface WindowCounterOptions {
  windowMs: number;
  /** The buckets that are counted separately at one time. */
  maxBuckets: number;
  /** A clock that never goes back. */
  nowMs?: () => number;
}

/** The shared buckets that count all buckets beyond `maxBuckets`. */
const overflowBuckets = 1_024;

/**
 * Counts uses in fixed windows that begin with a bucket's first use. Memory is bounded by `maxBuckets` and the shared
 * buckets: further buckets are counted together, so a flood of addresses makes the limit stricter for newcomers and lifts
 * it for nobody. The returned function counts one use.
 */
export const createWindowCounter = ({
  windowMs,
  maxBuckets,
  nowMs = () => performance.now(),
}: WindowCounterOptions): ((bucket: string) => WindowCount) => {
  // It is secret, so that nobody can aim at another's shared bucket.
  const seed = randomUUID();
  /** All windows have one length, so the order of insertion is the order in which they end. */
  const windows = new Map<string, { count: number; endsAtMs: number }>();

  const dropEnded = (now: number): void => {
    for (const [bucket, { endsAtMs }] of windows) {
      if (endsAtMs > now) return;
      windows.delete(bucket);
    }
  };
  const sharedName = (bucket: string): string =>
    `overflow:${Number.parseInt(hash('sha256', seed + bucket).slice(0, 8), 16) % overflowBuckets}`;

  return (bucket) => {
    const now = nowMs();
    dropEnded(now);
    const name = windows.has(bucket) || windows.size < maxBuckets ? bucket : sharedName(bucket);
    const window = windows.get(name) ?? { count: 0, endsAtMs: now + windowMs };
    window.count += 1;
    windows.set(name, window);
    return { count: window.count, msLeft: window.endsAtMs - now };
  };
};
