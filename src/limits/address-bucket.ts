import { isIPv4, isIPv6 } from 'node:net';
import { parseIPv6 } from '../http/classify-address.ts';

/** The bucket of all addresses that cannot be read. */
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
