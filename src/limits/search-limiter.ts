import { atMostEvery } from '../kit/at-most-every.ts';
import type { Log } from '../kit/log.ts';
import { addressBucket, unreadableBucket } from './address-bucket.ts';
import { createMinuteCounter } from './minute-counter.ts';
import type { LimiterRedis } from './redis-counter.ts';
import { tooMany } from './too-many.ts';

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
  /** The longest wait of one search for Redis. */
  timeoutMs?: number;
  keyPrefix?: string;
  /** The addresses that are counted separately in memory. */
  maxAddresses?: number;
}

const logIntervalMs = 60_000;

/** Limits the searches of each client address. */
export const createSearchLimiter = (options: SearchLimiterOptions): SearchLimiter => {
  const { ratePerMinute, redis, log, timeoutMs, keyPrefix = 'causeway:search-limit', maxAddresses } = options;
  const counter = createMinuteCounter({ redis, keyPrefix, timeoutMs, maxBuckets: maxAddresses });
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
      const { count, msLeft } = await counter.add(bucket);
      if (count > ratePerMinute)
        throw tooMany('Too many searches from this address', { ratePerMinute, msLeft });
    },
    close: () => counter.close(),
  };
};
