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
  /** The longest wait of one use for Redis. */
  timeoutMs?: number;
  /** The buckets that are counted separately in memory. */
  maxBuckets?: number;
}

const windowSeconds = 60;

/**
 * Counts each use in this process as well as in Redis. The count of this process decides whenever Redis does not answer:
 * an outage neither lifts a limit nor begins it anew.
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
