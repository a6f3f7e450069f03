import { atMostEvery } from '../at-most-every.ts';
import { AppError } from '../errors.ts';
import type { Log } from '../log.ts';
import { addressBucket, unreadableBucket } from './address-bucket.ts';
import { createRedisCounter, type LimiterRedis } from './redis-counter.ts';
import { createWindowCounter } from './window-counter.ts';

export interface SearchLimiter {
  /**
   * Counts one search of `clientAddress`, a bare IP address. Throws AppError `rate_limit_exceeded` (429, with
   * `retryAfterSeconds`) above the limit; refused searches count too, until the minute is over.
   */
  consume(clientAddress: string): Promise<void>;
  close(): Promise<void>;
}

export interface SearchLimiterOptions {
  ratePerMinute: number;
  /** Shared by all replicas; null counts in this process alone. The owner closes it. */
  redis: LimiterRedis | null;
  log: Log;
  /** How long one search waits for Redis. */
  timeoutMs?: number;
  keyPrefix?: string;
  /** Addresses that are counted apart in memory. */
  maxAddresses?: number;
}

const windowSeconds = 60;
const logIntervalMs = 60_000;

/**
 * The limit of searches for one client address. Each search is counted in this process as well as in Redis, and the
 * count of this process decides whenever Redis does not: an outage neither lifts the limit nor begins it anew.
 */
export const createSearchLimiter = (options: SearchLimiterOptions): SearchLimiter => {
  const { ratePerMinute, redis, log, timeoutMs = 100, keyPrefix = 'causeway:search-limit' } = options;
  const local = createWindowCounter({
    windowMs: windowSeconds * 1_000,
    maxBuckets: options.maxAddresses ?? 100_000,
  });
  const shared =
    redis === null
      ? null
      : createRedisCounter({ redis, limit: ratePerMinute, windowSeconds, keyPrefix, timeoutMs });
  const reportUnreadable = atMostEvery<string>(logIntervalMs, (clientAddress, leftOut) => {
    log.warn(
      { clientAddress: clientAddress.slice(0, 100), leftOut },
      'a client address cannot be read; all such clients share one search limit (see TRUSTED_PROXY_HOPS)',
    );
  });

  return {
    async consume(clientAddress) {
      const bucket = addressBucket(clientAddress);
      if (bucket === unreadableBucket) reportUnreadable(clientAddress);
      const own = local.add(bucket);
      const { count, msLeft } = (await shared?.add(bucket)) ?? own;
      if (count > ratePerMinute) throw tooManySearches(ratePerMinute, msLeft);
    },
    async close() {
      local.clear();
    },
  };
};

const tooManySearches = (ratePerMinute: number, msLeft: number): AppError => {
  const retryAfterSeconds = Math.max(1, Math.ceil(msLeft / 1_000));
  return new AppError(
    'rate_limit_exceeded',
    `Too many searches from this address: at most ${ratePerMinute} a minute. Try again in ${retryAfterSeconds} s.`,
    { retryAfterSeconds },
  );
};
