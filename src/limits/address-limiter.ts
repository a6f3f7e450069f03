import { throttle } from '../kit/throttle.ts';
import type { Log } from '../kit/log.ts';
import { addressBucket, unreadableBucket } from './address-bucket.ts';
import { createMinuteLimit, type MinuteLimitOptions } from './minute-limit.ts';

export interface AddressLimiterOptions extends MinuteLimitOptions {
  /** Names one counted call and several; the counts of different units are kept apart. */
  unit: { one: string; many: string };
  ratePerMinute: number;
  log: Log;
}

export type AddressLimiter = ReturnType<typeof createAddressLimiter>;

const logIntervalMs = 60_000;

/** Limits the calls of one kind that come from one client address. */
export const createAddressLimiter = ({ unit, ratePerMinute, log, ...counting }: AddressLimiterOptions) => {
  const count = createMinuteLimit(unit.one, counting);
  const reportUnreadable = throttle<string>(logIntervalMs, (clientAddress, leftOut) => {
    log.warn(
      { clientAddress: clientAddress.slice(0, 100), leftOut },
      'a client address cannot be read; all such clients share one limit (see TRUSTED_PROXY_HOPS)',
    );
  });
  return {
    /** Counts one call from `clientAddress`, a bare IP address. Throws as `createMinuteLimit`. */
    consume: (clientAddress: string): Promise<void> => {
      const bucket = addressBucket(clientAddress);
      if (bucket === unreadableBucket) reportUnreadable(clientAddress);
      return count(bucket, `Too many ${unit.many} from this address`, ratePerMinute);
    },
  };
};
