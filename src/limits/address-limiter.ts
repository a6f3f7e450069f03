import { throttle } from '../kit/repeat.ts';
import type { Log } from '../kit/log.ts';
import { createMinuteLimit, type MinuteLimitOptions, type RateLeft } from './minute-limit.ts';
import { isIPv4, isIPv6 } from 'node:net';
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
  const { parts } = parseIPv6(address);
  if (ipv4Prefixes.has(parts.slice(0, 6).join(':'))) return parts.slice(6).map(dotted).join('.');
  return `${parts
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`;
};

/** The first six groups, as decimals. */
const ipv4Prefixes = new Set([[0, 0, 0, 0, 0, 0xffff].join(':'), [0x64, 0xff9b, 0, 0, 0, 0].join(':')]);

const dotted = (group: number): string => `${group >> 8}.${group & 0xff}`;
