import type { RateLimiterRedis } from 'rate-limiter-flexible';
import { AppError } from '../kit/errors.ts';
import { memoizeAsync } from '../kit/memoize.ts';
import { hash, randomUUID } from 'node:crypto';
import type { RedisConnection } from './redis-connection.ts';

type LimiterRedis = Pick<RedisConnection, 'client' | 'attempt'>;

export interface MinuteLimitOptions {
  /** Shared by all replicas; null counts in this process alone. The owner closes it. */
  redis: LimiterRedis | null;
  keyPrefix?: string;
  timeoutMs?: number | undefined;
  maxBuckets?: number | undefined;
}

const windowSeconds = 60;

/**
 * Limits the uses of buckets, each in minutes that begin with its first use. Counts each use in this process as well as in
 * Redis. The count of this process decides whenever Redis does not answer: an outage neither lifts a limit nor begins it
 * anew. The returned function counts one use and tells what is left, and throws AppError `rate_limit_exceeded` (429, with `retryAfterSeconds`)
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
  return async (bucket: string, what: string, ratePerMinute: number): Promise<RateLeft> => {
    const own = local(bucket);
    const { count, msLeft } = shared === null ? own : ((await countShared(bucket)) ?? own);
    if (count > ratePerMinute) throw tooMany(what, { ratePerMinute, msLeft });
    return { ratePerMinute, remaining: ratePerMinute - count, msLeft };
  };
};

/** What is left of a limit, in the minute that ends in `msLeft` milliseconds. */
export interface RateLeft {
  ratePerMinute: number;
  remaining: number;
  msLeft: number;
}

/** Notes for a call what is left of a limit that counted it. Of several, the one with the fewest calls left is told. */
export const noteRate = ({ rate }: { rate?: { left?: RateLeft } }, left: RateLeft): void => {
  if (rate !== undefined && !(rate.left && rate.left.remaining <= left.remaining)) rate.left = left;
};

export const rateHeaderTexts = {
  'X-RateLimit-Limit-Requests': 'The calls that may be made in a minute.',
  'X-RateLimit-Remaining-Requests': 'The calls that are left of them.',
  'X-RateLimit-Reset-Requests': 'The time until all may be made again, such as `6ms` or `12s`.',
};

/** Returns what is left of a limit as headers that clients of OpenAI know. */
export const rateHeaders = ({ ratePerMinute, remaining, msLeft }: RateLeft): Record<string, string> => ({
  'x-ratelimit-limit-requests': String(ratePerMinute),
  'x-ratelimit-remaining-requests': String(remaining),
  'x-ratelimit-reset-requests':
    msLeft < 1_000 ? `${Math.max(0, Math.ceil(msLeft))}ms` : `${Math.ceil(msLeft / 1_000)}s`,
});

export const tooMany = (
  what: string,
  { ratePerMinute, msLeft }: { ratePerMinute: number; msLeft: number },
): AppError =>
  new AppError(
    'rate_limit_exceeded',
    `${what}: at most ${ratePerMinute} a minute. Wait as long as Retry-After says.`,
    {
      retryAfterSeconds: Math.max(1, Math.ceil(msLeft / 1_000)),
      headers: rateHeaders({ ratePerMinute, remaining: 0, msLeft }),
    },
  );

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

export type AccountLimiter = ReturnType<typeof createAccountLimiter>;

/** Limits the calls of each account, by whichever of its keys and over whichever transport. */
export const createAccountLimiter = (counting: MinuteLimitOptions) => {
  const count = createMinuteLimit('account', counting);
  return {
    /** Counts one of the `things` that the account may do in a minute, as `createMinuteLimit`. */
    consume: (accountId: string, ratePerMinute: number, things = 'calls'): Promise<RateLeft> =>
      count(`${things} ${accountId}`, `Too many ${things} of this account`, ratePerMinute),
  };
};

/** The uses of a bucket in its window, this use included. */
export interface WindowCount {
  count: number;
  msLeft: number;
}

/** The shared buckets that count all buckets beyond `maxBuckets`. */
const overflowBuckets = 1_024;

/**
 * Counts uses in fixed windows that begin with a bucket's first use. Memory is bounded by `maxBuckets` and the shared
 * buckets: further buckets are counted together, so a flood of addresses makes the limit stricter for newcomers and lifts
 * it for nobody. The returned function counts one use.
 */
export const createWindowCounter = (options: {
  windowMs: number;
  maxBuckets: number;
  /** A clock that never goes back. */
  nowMs?: () => number;
}): ((bucket: string) => WindowCount) => {
  const { windowMs, maxBuckets, nowMs = () => performance.now() } = options;
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
    // The sum of two floats may be a little more than the window.
    return { count: window.count, msLeft: Math.min(windowMs, window.endsAtMs - now) };
  };
};
