import type { RateLimiterRedis } from 'rate-limiter-flexible';
import type { WindowCount } from './window-counter.ts';

/** The part of a connection to Redis that the counter uses; RedisConnection of src/cache has it. */
export interface LimiterRedis {
  readonly client: object;
  /** Returns the outcome of `command`, or undefined if Redis failed or took longer than `timeoutMs`. Never throws. */
  attempt<T>(command: () => Promise<T>, timeoutMs: number): Promise<T | undefined>;
}

export interface RedisCounterOptions {
  redis: LimiterRedis;
  windowSeconds: number;
  keyPrefix: string;
  timeoutMs: number;
}

export interface RedisCounter {
  /** Returns undefined when Redis did not answer in time; it may have counted the use all the same. */
  add(bucket: string): Promise<WindowCount | undefined>;
}

/** Counts uses of all replicas on one Redis, in fixed windows, exactly. The library is loaded at the first use. */
export const createRedisCounter = (options: RedisCounterOptions): RedisCounter => {
  const { redis, timeoutMs } = options;
  let counting: Promise<Count> | undefined;
  return {
    async add(bucket) {
      const count = await (counting ??= loadCount(options));
      return redis.attempt(() => count(bucket), timeoutMs);
    },
  };
};

type Count = (bucket: string) => Promise<WindowCount>;

const loadCount = async (options: RedisCounterOptions): Promise<Count> => {
  const library = await import('rate-limiter-flexible');
  const limiter: RateLimiterRedis = new library.RateLimiterRedis({
    storeClient: options.redis.client,
    useRedisPackage: true,
    // The library only counts. The caller decides which count is too many, each time anew.
    points: Number.MAX_SAFE_INTEGER,
    duration: options.windowSeconds,
    keyPrefix: options.keyPrefix,
  });
  return async (bucket) => {
    const { consumedPoints, msBeforeNext } = await limiter.consume(bucket);
    return { count: consumedPoints, msLeft: msBeforeNext };
  };
};
