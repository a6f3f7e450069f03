import { createRedisCounter, type LimiterRedis } from './redis-counter.ts';
import { createWindowCounter, type WindowCount } from './window-counter.ts';

/** Counts the uses of buckets, each in minutes that begin with its first use. */
export interface MinuteCounter {
  /** Counts one use. Never throws, and takes `timeoutMs` at most. */
  add(bucket: string): Promise<WindowCount>;
  close(): Promise<void>;
}

export interface MinuteCounterOptions {
  /** Shared by all replicas; null counts in this process alone. The owner closes it. */
  redis: LimiterRedis | null;
  keyPrefix: string;
  /** How long one use waits for Redis. */
  timeoutMs?: number;
  /** Buckets that are counted apart in memory. */
  maxBuckets?: number;
}

const windowSeconds = 60;

/**
 * Each use is counted in this process as well as in Redis, and the count of this process decides whenever Redis does
 * not: an outage neither lifts a limit nor begins it anew.
 */
export const createMinuteCounter = (options: MinuteCounterOptions): MinuteCounter => {
  const { redis, keyPrefix, timeoutMs = 100, maxBuckets = 100_000 } = options;
  const local = createWindowCounter({ windowMs: windowSeconds * 1_000, maxBuckets });
  const shared = redis === null ? null : createRedisCounter({ redis, windowSeconds, keyPrefix, timeoutMs });
  return {
    async add(bucket) {
      const own = local.add(bucket);
      return (await shared?.add(bucket)) ?? own;
    },
    async close() {
      local.clear();
    },
  };
};
