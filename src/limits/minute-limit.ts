import type { RateLimiterRedis } from 'rate-limiter-flexible';
import { AppError } from '../kit/errors.ts';
import { memoizeAsync } from '../kit/memoize-async.ts';
import { createWindowCounter, type WindowCount } from './window-counter.ts';

/** The part of a connection to Redis that a limit uses; RedisConnection has it. */
export interface LimiterRedis {
  readonly client: object;
  /** Returns the outcome of `command`, or undefined if Redis failed or took longer than `timeoutMs`. Never throws. */
  attempt<T>(command: () => Promise<T>, timeoutMs: number): Promise<T | undefined>;
}

export interface MinuteLimitOptions {
  /** Shared by all replicas; null counts in this process alone. The owner closes it. */
  redis: LimiterRedis | null;
  keyPrefix?: string;
  /** The longest wait of one use for Redis. */
  timeoutMs?: number | undefined;
  /** The buckets that are counted separately in memory. */
  maxBuckets?: number | undefined;
}

const windowSeconds = 60;

/**
 * Limits the uses of buckets, each in minutes that begin with its first use. Counts each use in this process as well as in
 * Redis. The count of this process decides whenever Redis does not answer: an outage neither lifts a limit nor begins it
 * anew. The returned function counts one use, and throws AppError `rate_limit_exceeded` (429, with `retryAfterSeconds`)
 * above the limit. Refused uses count too, until the minute is over. `what` begins the refusal: "Too many searches". The
 * `name` keeps the counts of limits apart.
 */
export const createMinuteLimit = (
  name: string,
  { redis, keyPrefix = `causeway:${name}-limit`, timeoutMs = 100, maxBuckets = 100_000 }: MinuteLimitOptions,
) => {
  const local = createWindowCounter({ windowMs: windowSeconds * 1_000, maxBuckets });
  const shared =
    redis === null ? null : { redis, counter: memoizeAsync(() => openRedisCounter(redis, keyPrefix)) };
  const countShared = async (bucket: string): Promise<WindowCount | undefined> => {
    const counter = await shared?.counter();
    return counter && shared?.redis.attempt(() => counter(bucket), timeoutMs);
  };
  return async (bucket: string, what: string, ratePerMinute: number): Promise<void> => {
    const own = local(bucket);
    const { count, msLeft } = shared === null ? own : ((await countShared(bucket)) ?? own);
    if (count > ratePerMinute) throw tooMany(what, { ratePerMinute, msLeft });
  };
};

/** Returns the refusal of a use above the limit. */
export const tooMany = (
  what: string,
  { ratePerMinute, msLeft }: { ratePerMinute: number; msLeft: number },
): AppError =>
  new AppError(
    'rate_limit_exceeded',
    `${what}: at most ${ratePerMinute} a minute. Wait as long as Retry-After says.`,
    { retryAfterSeconds: Math.max(1, Math.ceil(msLeft / 1_000)) },
  );

/** Loads the library at the first use. */
const openRedisCounter = async ({ client }: LimiterRedis, keyPrefix: string) => {
  const library = await import('rate-limiter-flexible');
  const limiter: RateLimiterRedis = new library.RateLimiterRedis({
    storeClient: client,
    useRedisPackage: true,
    // The library only counts. The caller decides which count is too many, each time anew.
    points: Number.MAX_SAFE_INTEGER,
    duration: windowSeconds,
    keyPrefix,
  });
  return async (bucket: string): Promise<WindowCount> => {
    const { consumedPoints, msBeforeNext } = await limiter.consume(bucket);
    return { count: consumedPoints, msLeft: msBeforeNext };
  };
};
