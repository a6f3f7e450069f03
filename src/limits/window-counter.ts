import { hash, randomUUID } from 'node:crypto';

/** What a bucket has used of its window, this use included. */
export interface WindowCount {
  count: number;
  msLeft: number;
}

export interface WindowCounter {
  add(bucket: string): WindowCount;
  clear(): void;
}

export interface WindowCounterOptions {
  windowMs: number;
  /** Buckets counted apart at one time. */
  maxBuckets: number;
  /** A clock that never goes back. */
  nowMs?: () => number;
}

/** How many shared buckets take those beyond `maxBuckets`. */
const overflowBuckets = 1_024;

/**
 * Counts uses in fixed windows that begin with a bucket's first use. Memory holds at most `maxBuckets` and the
 * overflow: when so many windows are open, further buckets are counted together, so that a flood of addresses can
 * make the limit stricter for newcomers but lifts it for nobody.
 */
export const createWindowCounter = (options: WindowCounterOptions): WindowCounter => {
  const { windowMs, maxBuckets, nowMs = () => performance.now() } = options;
  const seed = randomUUID();
  /** All windows have one length, so the order of insertion is the order in which they end. */
  const windows = new Map<string, { count: number; endsAtMs: number }>();

  const dropEnded = (now: number): void => {
    for (const [bucket, { endsAtMs }] of windows) {
      if (endsAtMs > now) return;
      windows.delete(bucket);
    }
  };
  const counted = (bucket: string): string =>
    windows.has(bucket) || windows.size < maxBuckets ? bucket : overflowName(seed, bucket);

  return {
    add(bucket) {
      const now = nowMs();
      dropEnded(now);
      const name = counted(bucket);
      const window = windows.get(name) ?? { count: 0, endsAtMs: now + windowMs };
      window.count += 1;
      windows.set(name, window);
      return { count: window.count, msLeft: window.endsAtMs - now };
    },
    clear: () => windows.clear(),
  };
};

/** Seeded, so that nobody can aim at another's shared bucket. */
const overflowName = (seed: string, bucket: string): string =>
  `overflow:${Number.parseInt(hash('sha256', seed + bucket).slice(0, 8), 16) % overflowBuckets}`;
