import fc from 'fast-check';
import { expect, test } from 'vitest';
import { classifyAddress } from '../../src/http/check-url.ts';

const publicAddresses = [
  '1.1.1.1',
  '8.8.8.8',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.1',
  '169.253.255.255',
  '169.255.0.0',
  '172.15.255.255',
  '172.32.0.0',
  '192.167.255.255',
  '192.169.0.0',
  '198.17.255.255',
  '198.20.0.0',
  '223.255.255.255',
  '::ffff:8.8.8.8',
  '::ffff:808:808',
  '2606:4700:4700::1111',
  '2a00:1450:4001:81b::200e',
];

const loopbackAddresses = ['127.0.0.1', '127.255.255.254', '::1', '::ffff:127.0.0.1', '::ffff:7f00:1'];

const refusedAddresses = [
  // Not addresses at all, or in spellings that no resolver answers with.
  '',
  'localhost',
  '127.1',
  '0x7f.0.0.1',
  '0177.0.0.1',
  '2130706433',
  '8.8.8.8 ',
  '8.8.8.8.',
  '[2606:4700::1]',
  '2606:4700::1%eth0',
  'fe80::1%1',
  // This network, private, shared, link-local (cloud metadata), protocol assignments, documentation, benchmarks.
  '0.0.0.0',
  '0.1.2.3',
  '10.0.0.0',
  '10.255.255.255',
  '100.64.0.0',
  '100.127.255.255',
  '169.254.169.254',
  '172.16.0.0',
  '172.31.255.255',
  '192.0.0.8',
  '192.0.0.170',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.0.0',
  '192.168.255.255',
  '198.18.0.1',
  '198.19.255.255',
  '198.51.100.1',
  '203.0.113.9',
  // Multicast, reserved, broadcast.
  '224.0.0.1',
  '239.255.255.255',
  '240.0.0.1',
  '255.255.255.255',
  // The same inside IPv6.
  '::ffff:0.0.0.0',
  '::ffff:10.0.0.1',
  '::ffff:a9fe:a9fe',
  '::ffff:192.168.1.1',
  // IPv4-compatible, translated, NAT64 (well-known and local), 6to4, Teredo: whatever the IPv4 address inside.
  '::127.0.0.1',
  '::8.8.8.8',
  '::808:808',
  '::ffff:0:7f00:1',
  '::ffff:0:808:808',
  '64:ff9b::7f00:1',
  '64:ff9b::808:808',
  '64:ff9b:1::1',
  '2002:7f00:1::',
  '2002:808:808::1',
  '2001::1',
  '2001:0:4136:e378:8000:63bf:3fff:fdd2',
  // Unspecified, discard, special purposes, documentation, segment routing, private, link- and site-local, multicast.
  '::',
  '100::1',
  '2001:2::1',
  '2001:10::1',
  '2001:20::1',
  '2001:db8::1',
  '3fff::1',
  '3fff:fff:ffff::1',
  '5f00::1',
  'fc00::1',
  'fd00:ec2::254',
  'fe80::1',
  'fec0::1',
  'ff02::1',
  'ff0e::1',
  // Not given out to anybody.
  '4000::1',
  '8000::1',
];

test.each(publicAddresses)('%s is public', (address) => {
  expect(classifyAddress(address)).toBe('public');
});

test.each(loopbackAddresses)('%s is this machine', (address) => {
  expect(classifyAddress(address)).toBe('loopback');
});

test.each(refusedAddresses)('"%s" is refused', (address) => {
  expect(classifyAddress(address)).toBe('refused');
});

const hexPair = (high: number, low: number): string => ((high << 8) | low).toString(16);
const inHex = (address: string): string => {
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
  return `${hexPair(a, b)}:${hexPair(c, d)}`;
};

test('a mapped IPv6 address is what its IPv4 address is, in both spellings', () => {
  fc.assert(
    fc.property(fc.ipV4(), (address) => {
      const expected = classifyAddress(address);
      expect(classifyAddress(`::ffff:${address}`)).toBe(expected);
      expect(classifyAddress(`0:0:0:0:0:FFFF:${inHex(address)}`)).toBe(expected);
    }),
  );
});

test('no other IPv6 address that carries an IPv4 address is let through', () => {
  fc.assert(
    fc.property(fc.ipV4(), (address) => {
      const hex = inHex(address);
      for (const carrier of [`64:ff9b::${hex}`, `64:ff9b:1::${hex}`, `2002:${hex}::1`, `2001:0:${hex}::1`])
        expect(classifyAddress(carrier)).toBe('refused');
      expect(classifyAddress(`::${address}`)).not.toBe('public');
      expect(classifyAddress(`::${hex}`)).not.toBe('public');
    }),
  );
});

test('every spelling of an IPv6 address has one class', () => {
  fc.assert(
    fc.property(fc.ipV6(), (address) => {
      const canonical = new URL(`http://[${address}]`).hostname.slice(1, -1);
      expect(classifyAddress(address)).toBe(classifyAddress(canonical));
      expect(classifyAddress(address.toUpperCase())).toBe(classifyAddress(canonical));
    }),
  );
});

test('any text has a class, and no text without an address is public', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.domain(), fc.webAuthority()), (text) => {
      expect(['refused', 'loopback', 'public']).toContain(classifyAddress(text));
      if (!/^[\da-f:.]+$/i.test(text)) expect(classifyAddress(text)).toBe('refused');
    }),
  );
});
