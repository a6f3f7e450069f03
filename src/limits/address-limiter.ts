import { throttle } from '../kit/throttle.ts';
import type { Log } from '../kit/log.ts';
import { addressBucket, unreadableBucket } from './address-bucket.ts';
import { createMinuteCounter } from './minute-counter.ts';
import type { LimiterRedis } from './redis-counter.ts';
import { tooMany } from './too-many.ts';

export interface AddressLimiter {
  /**
   * Counts one call from `clientAddress`, a bare IP address. Throws AppError `rate_limit_exceeded` (429, with
   * `retryAfterSeconds`) above the limit. Refused calls count too, until the minute is over.
   */
  consume(clientAddress: string): Promise<void>;
  close(): Promise<void>;
}

export interface AddressLimiterOptions {
  /** Names one counted call and several; the counts of different units are kept apart. */
  unit: { one: string; many: string };
  ratePerMinute: number;
  /** Shared by all replicas; null counts in this process alone. The owner closes it. */
  redis: LimiterRedis | null;
  log: Log;
  /** How long one call waits for Redis. */
  timeoutMs?: number;
  keyPrefix?: string;
  /** The most addresses that are counted apart in memory. */
  maxAddresses?: number;
}

const logIntervalMs = 60_000;

/** Limits the calls of one kind that come from one client address. */
export const createAddressLimiter = (options: AddressLimiterOptions): AddressLimiter => {
  const { unit, ratePerMinute, redis, log, timeoutMs, maxAddresses } = options;
  const { keyPrefix = `causeway:${unit.one}-limit` } = options;
  const counter = createMinuteCounter({ redis, keyPrefix, timeoutMs, maxBuckets: maxAddresses });
  const reportUnreadable = throttle<string>(logIntervalMs, (clientAddress, leftOut) => {
    log.warn(
      { clientAddress: clientAddress.slice(0, 100), leftOut },
      'a client address cannot be read; all such clients share one limit (see TRUSTED_PROXY_HOPS)',
    );
  });

  return {
    async consume(clientAddress) {
      const bucket = addressBucket(clientAddress);
      if (bucket === unreadableBucket) reportUnreadable(clientAddress);
      const { count, msLeft } = await counter.add(bucket);
      if (count > ratePerMinute)
        throw tooMany(`Too many ${unit.many} from this address`, { ratePerMinute, msLeft });
    },
    close: () => counter.close(),
  };
};
