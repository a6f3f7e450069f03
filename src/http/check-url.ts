import { isIP } from 'node:net';
import { OutboundError } from './outbound.ts';
import ipaddr from 'ipaddr.js';

/** A URL whose host may be looked up. It may be called if the addresses of the host are allowed too. */
export interface CheckedUrl {
  url: URL;
  /** An IP address without brackets, or a host name without a dot at its end. */
  host: string;
  port: number;
  /** Whether a connection to an IP address of this class is allowed. */
  allows(addressClass: AddressClass): boolean;
}

/** No real address is longer, but the redirect of an answer may be. */
const maxCharacters = 8_192;

/**
 * Reads a URL that a user or a redirect named: https, on any port, of a host that is not a literal private address, without
 * credentials. With `allowsLoopback`, addresses of this machine are read too, over plain http as well.
 * Throws OutboundError; its message is safe to show to whoever wrote the URL.
 */
export const checkUrl = (text: string, { allowsLoopback }: { allowsLoopback: boolean }): CheckedUrl => {
  if (text.length > maxCharacters) throw badUrl(`is longer than ${maxCharacters} characters`);
  if (/\p{Cc}/u.test(text)) throw badUrl('has a control character in it');
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null) throw badUrl('is not a complete URL');
  const isHttps = url.protocol === 'https:';
  if (!isHttps && url.protocol !== 'http:') throw badUrl('must begin with https://');
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  const literalClass = classifyLiteral(host);
  if (literalClass === 'loopback' && !allowsLoopback)
    throw new OutboundError(
      'loopback',
      'The host of the URL is this machine itself. The operator of a gateway for development allows that with ' +
        'ALLOW_LOOPBACK_URLS=true.',
    );
  if (!isHttps && !allowsLoopback) throw badUrl('must begin with https://');
  if (url.username !== '' || url.password !== '') throw badUrl('must not have a user name or password in it');
  if (host === '') throw badUrl('has no host');
  const allows = (addressClass: AddressClass): boolean =>
    addressClass === 'public' ? isHttps : addressClass === 'loopback' && allowsLoopback;
  if (literalClass !== null && !allows(literalClass))
    throw literalClass === 'public' ? badUrl('must begin with https://') : notPublic();
  return { url, host, port: Number(url.port || (isHttps ? 443 : 80)), allows };
};

/** Names of this machine are never asked of the DNS (RFC 6761). */
export const isLoopbackName = (host: string): boolean => host === 'localhost' || host.endsWith('.localhost');

/** Classifies a host that needs no look-up; an IPv6 address may be in brackets, as in a URL. Returns null for a name. */
export const classifyLiteral = (host: string): AddressClass | null => {
  if (isLoopbackName(host)) return 'loopback';
  const address = host.replace(/^\[|\]$/g, '');
  return isIP(address) === 0 ? null : classifyAddress(address);
};

const badUrl = (reason: string): OutboundError => new OutboundError('bad_url', `The URL ${reason}.`);

export const notPublic = (): OutboundError =>
  new OutboundError('not_public', 'The host of the URL is not a public address.');

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
