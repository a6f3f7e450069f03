import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

export type AddressClass = 'public' | 'loopback' | 'refused';

/** The part of IPv6 that is given out for the Internet. Everything else is local, translated or reserved. */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');
/** Documentation (RFC 9637); ipaddr.js takes it for unicast. */
const documentation = ipaddr.IPv6.parseCIDR('3fff::/20');

/**
 * Says whether an IP address may be called for a stranger. Only plain unicast is public: no private, shared, link-local,
 * multicast, documentation or reserved range, and none that carries an IPv4 address inside (NAT64, 6to4, Teredo). A
 * mapped IPv6 address is the IPv4 address that the kernel makes of it. Anything but an address is refused.
 */
export const classifyAddress = (address: string): AddressClass => {
  switch (isIP(address)) {
    case 4:
      return classifyRange(ipaddr.IPv4.parse(address).range());
    case 6:
      return address.includes('%') ? 'refused' : classifySix(parseIPv6(address));
    default:
      return 'refused';
  }
};

/** Written in hexadecimal first: ipaddr.js reads `::1.2.3.4` as if it were `::ffff:1.2.3.4`. */
export const parseIPv6 = (address: string): ipaddr.IPv6 =>
  ipaddr.IPv6.parse(new URL(`http://[${address}]`).hostname.slice(1, -1));

const classifySix = (address: ipaddr.IPv6): AddressClass => {
  if (address.isIPv4MappedAddress()) return classifyRange(address.toIPv4Address().range());
  const range = address.range();
  if (range === 'loopback') return 'loopback';
  return address.match(globalUnicast) && !address.match(documentation) ? classifyRange(range) : 'refused';
};

const classifyRange = (range: string): AddressClass => {
  if (range === 'unicast') return 'public';
  return range === 'loopback' ? 'loopback' : 'refused';
};
