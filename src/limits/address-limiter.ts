import { throttle } from '../kit/repeat.ts';
import type { Log } from '../kit/log.ts';
import { createMinuteLimit, type MinuteLimitOptions, type RateLeft } from './minute-limit.ts';
import { isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';
import { parseIPv6 } from '../http/check-url.ts';

export interface AddressLimiterOptions extends MinuteLimitOptions {
  /** Names one counted call and several; the counts of different units are kept apart. */
  unit: { one: string; many: string };
  ratePerMinute: number;
  log: Log;
}

export type AddressLimiter = ReturnType<typeof createAddressLimiter>;

const logIntervalMs = 60_000;

export const createAddressLimiter = ({ unit, ratePerMinute, log, ...counting }: AddressLimiterOptions) => {
  const count = createMinuteLimit(unit.one, counting);
  const reportUnreadable = throttle<string>(logIntervalMs, (clientAddress, leftOut) => {
    log.warn(
      { clientAddress: clientAddress.slice(0, 100), leftOut },
      'a client address cannot be read; all such clients share one limit (see TRUSTED_PROXY_HOPS)',
    );
  });
  return {
    /** Counts one call from `clientAddress`, a bare IP address. As `createMinuteLimit`. */
    consume: (clientAddress: string): Promise<RateLeft> => {
      const bucket = addressBucket(clientAddress);
      if (bucket === unreadableBucket) reportUnreadable(clientAddress);
      return count(bucket, `Too many ${unit.many} from this address`, ratePerMinute);
    },
  };
};

export const unreadableBucket = 'unreadable';

/**
 * Returns the name under which a client address is counted. An IPv4 address counts alone. An IPv6 address counts by its
 * /64, which one subscriber gets. An IPv4 address within IPv6 (mapped ::ffff:0:0/96, translated 64:ff9b::/96) counts as
 * the IPv4 address.
 */
export const addressBucket = (clientAddress: string): string => {
  const address = clientAddress.replace(/%.*$/, '');
  if (isIPv4(address)) return address;
  if (!isIPv6(address)) return unreadableBucket;
  const parsed = parseIPv6(address);
  if (ipv4Ranges.some((range) => parsed.match(range))) return parsed.toByteArray().slice(12).join('.');
  const network = parsed.parts.slice(0, 4).map((group) => group.toString(16));
  return `${network.join(':')}::/64`;
};

/** Their last four bytes are an IPv4 address. */
const ipv4Ranges = ['::ffff:0:0/96', '64:ff9b::/96'].map((range) => ipaddr.IPv6.parseCIDR(range));
