import { isIPv4, isIPv6 } from 'node:net';

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
  const groups = groupsOf(address);
  if (ipv4Prefixes.has(groups.slice(0, 6).join(':'))) return groups.slice(6).map(dotted).join('.');
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`;
};

/** The first six groups, as decimals. */
const ipv4Prefixes = new Set([[0, 0, 0, 0, 0, 0xffff].join(':'), [0x64, 0xff9b, 0, 0, 0, 0].join(':')]);

const dotted = (group: number): string => `${group >> 8}.${group & 0xff}`;

/** The eight groups of a valid IPv6 address. */
const groupsOf = (address: string): number[] => {
  const [head = '', tail = ''] = withoutDots(address).split('::');
  const before = readGroups(head);
  const after = readGroups(tail);
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => 0);
  return [...before, ...zeros, ...after];
};

const readGroups = (text: string): number[] =>
  text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16));

/** `address` with a dotted end (::ffff:1.2.3.4) turned into two groups. */
const withoutDots = (address: string): string =>
  address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, ...parts: string[]) => {
    const [a = 0, b = 0, c = 0, d = 0] = parts.slice(0, 4).map(Number);
    return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  });
