import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addressBucket, unreadableBucket } from '../../src/limits/address-limiter.ts';

const group = fc.integer({ min: 0, max: 0xffff });
const groups = fc.tuple(group, group, group, group, group, group, group, group);
const octets = fc.tuple(...Array.from({ length: 4 }, () => fc.integer({ min: 0, max: 255 })));
const written = (parts: number[]): string => parts.map((part) => part.toString(16)).join(':');
/** The shortest form, as WHATWG URLs write it. */
const compressed = (parts: number[]): string => new URL(`http://[${written(parts)}]`).hostname.slice(1, -1);
const holdsIpv4 = (parts: number[]): boolean =>
  /^(0,0,0,0,0,65535|100,65435,0,0,0,0)$/.test(parts.slice(0, 6).join(','));

describe('the bucket of an address', () => {
  it('is the address itself for IPv4', () => {
    fc.assert(
      fc.property(octets, (parts) => {
        expect(addressBucket(parts.join('.'))).toBe(parts.join('.'));
      }),
    );
  });

  it('is one for all of a /64, however it is written', () => {
    fc.assert(
      fc.property(groups, groups, (parts, others) => {
        fc.pre(!holdsIpv4(parts));
        const neighbour = [...parts.slice(0, 4), ...others.slice(4)];
        fc.pre(!holdsIpv4(neighbour));
        const bucket = addressBucket(written(parts));
        expect(bucket).toBe(`${written(parts.slice(0, 4))}::/64`);
        expect(addressBucket(compressed(parts))).toBe(bucket);
        expect(addressBucket(written(parts).toUpperCase())).toBe(bucket);
        expect(addressBucket(written(neighbour))).toBe(bucket);
      }),
    );
  });

  it('differs between /64 networks', () => {
    expect(addressBucket('2001:db8:0:1::1')).not.toBe(addressBucket('2001:db8:0:2::1'));
  });

  it('is the IPv4 address within a mapped or translated one', () => {
    fc.assert(
      fc.property(octets, (parts) => {
        const ipv4 = parts.join('.');
        const [a = 0, b = 0, c = 0, d = 0] = parts;
        const low = written([a * 256 + b, c * 256 + d]);
        for (const same of [`::ffff:${ipv4}`, `::FFFF:${low}`, `0:0:0:0:0:ffff:${low}`, `64:ff9b::${ipv4}`])
          expect(addressBucket(same)).toBe(ipv4);
      }),
    );
  });

  it('leaves the zone out', () => {
    expect(addressBucket('fe80::1%eth0')).toBe('fe80:0:0:0::/64');
  });

  it.each([
    '',
    'unknown',
    '1.2.3',
    '1.2.3.4:80',
    '[::1]',
    '01.2.3.4',
    '1::2::3',
    '::ffff:1.2.3.400',
    'overflow:1',
  ])('is the shared one for %j', (text) => {
    expect(addressBucket(text)).toBe(unreadableBucket);
  });

  it('throws at no text', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(addressBucket(text).length).toBeGreaterThan(0);
      }),
    );
  });
});
