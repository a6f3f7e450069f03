import type { RateLimiterRedis } from 'rate-limiter-flexible';
import type { WindowCount } from './window-counter.ts';

/** What the counter asks of a connection to Redis; RedisConnection of src/cache is one. */
export interface LimiterRedis {
  readonly client: object;
  /** The outcome of `command`, or undefined where Redis failed or took longer than `timeoutMs`; never throws. */
  attempt<T>(command: () => Promise<T>, timeoutMs: number): Promise<T | undefined>;
}

export interface RedisCounterOptions {
  redis: LimiterRedis;
  windowSeconds: number;
  keyPrefix: string;
  timeoutMs: number;
}

export interface RedisCounter {
  /** Undefined when Redis did not answer in time; it may have counted nevertheless. */
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
    // The library only counts: which count is too many, the caller says, and may say anew each time.
    points: Number.MAX_SAFE_INTEGER,
    duration: options.windowSeconds,
    keyPrefix: options.keyPrefix,
  });
  return async (bucket) => {
    const { consumedPoints, msBeforeNext } = await limiter.consume(bucket);
    return { count: consumedPoints, msLeft: msBeforeNext };
  };
};
