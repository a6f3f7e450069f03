import { randomBytes } from 'node:crypto';
import { createSIWxMessage } from '@x402/extensions/sign-in-with-x';
import fc from 'fast-check';
import { getAddress } from 'viem';
import { describe, expect, it } from 'vitest';
import {
  newSignInNonce,
  readSignInNonce,
  findSignInFault,
  parseSignedMessage,
  toSignedText,
  type SignedMessage,
} from '../../../src/payments/wire/sign-in-with-x.ts';
import { encodeBase58 } from '../../../src/payments/chains/solana/base58.ts';

const now = Date.UTC(2026, 10, 23, 12);
const iso = (offsetMs: number): string => new Date(now + offsetMs).toISOString();
const publicUrl = 'https://gate.example/base';

const message: SignedMessage = {
  domain: 'gate.example',
  address: '0x209693Bc6afc0C5328bA36FaF03C514EF312287C',
  uri: 'https://gate.example/base/v1/auth/wallet',
  version: '1',
  chainId: 'eip155:8453',
  nonce: 'a1b2c3d4e5f6',
  issuedAt: iso(-1_000),
  signature: '0x11',
};

const url = fc.webUrl({ withQueryParameters: true });
const moment = fc.integer({ min: 0, max: 4e12 }).map((time) => new Date(time).toISOString());
const optionalFields = fc.record(
  {
    statement: fc.stringMatching(/^[A-Za-z0-9 .,]{1,40}$/),
    expirationTime: moment,
    notBefore: moment,
    requestId: fc.stringMatching(/^[a-z0-9]{1,20}$/),
    resources: fc.array(url, { minLength: 1, maxLength: 3 }),
  },
  { requiredKeys: [] },
);

describe('the text that a wallet signs', () => {
  it.each([
    { chainId: 'eip155:8453', account: 'Ethereum', whenUnstated: [''], type: 'eip191' as const },
    {
      chainId: 'solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1',
      account: 'Solana',
      whenUnstated: [],
      type: 'ed25519' as const,
    },
  ])(
    'is that of the clients on $account, whatever fields there are',
    ({ chainId, account, whenUnstated, type }) => {
      fc.assert(
        fc.property(optionalFields, (fields) => {
          const address =
            account === 'Solana'
              ? encodeBase58(randomBytes(32))
              : getAddress(`0x${randomBytes(20).toString('hex')}`);
          const signed = { ...message, ...fields, chainId, address };
          const expected = createSIWxMessage({ ...signed, type }, address);
          expect(toSignedText(signed, { account, whenUnstated })).toBe(expected);
        }),
      );
    },
  );

  it.each([
    ['domain', 'gate.example\nURI: https://evil.example'],
    ['statement', 'a\r\nb'],
    ['resources', ['https://a.example\n- https://b.example']],
    ['version', '2'],
    ['chainId', 'base'],
    ['signature', undefined],
  ])('has no meaning with another %s', (field, value) => {
    expect(parseSignedMessage({ ...message, [field]: value })).toMatch(new RegExp(`^${field}`));
  });
});

describe('a signed message', () => {
  it.each([
    ['counts', {}, null],
    ['counts from a clock that is a little ahead', { issuedAt: iso(2_000) }, null],
    ['does not count at another domain', { domain: 'evil.example' }, 'domain'],
    ['does not count at another port', { domain: 'gate.example:8443' }, 'domain'],
    ['does not count for another origin', { uri: 'https://gate.example.evil.example/' }, 'uri'],
    ['does not count for another scheme', { uri: 'http://gate.example/base' }, 'uri'],
    ['does not count without an address', { uri: 'gate.example' }, 'uri'],
    ['does not count after five minutes', { issuedAt: iso(-300_001) }, 'issuedAt'],
    ['does not count ahead of time', { issuedAt: iso(60_000) }, 'issuedAt'],
    ['does not count without a time', { issuedAt: 'now' }, 'issuedAt'],
    ['does not count when it has expired', { expirationTime: iso(0) }, 'expirationTime'],
    ['does not count with an end that is no time', { expirationTime: 'never' }, 'expirationTime'],
    ['does not count before its time', { notBefore: iso(60_000) }, 'notBefore'],
  ])('%s', (_name, changes, field) => {
    const fault = findSignInFault({ ...message, ...changes }, { publicUrl, now });
    expect(fault === null ? null : fault.split(':')[0]).toBe(field);
  });
});

describe('a nonce', () => {
  it('tells when it was made, to those who know the secret, and no changed one does', () => {
    const nonce = newSignInNonce('secret', now);
    expect(readSignInNonce(nonce, 'secret')).toBe(now);
    expect(readSignInNonce(nonce, 'other')).toBeNull();
    for (let digit = 0; digit < nonce.length; digit += 1) {
      const changed = nonce[digit] === '0' ? '1' : '0';
      expect(readSignInNonce(nonce.slice(0, digit) + changed + nonce.slice(digit + 1), 'secret')).toBeNull();
    }
    expect(readSignInNonce(nonce.toUpperCase(), 'secret')).toBeNull();
    expect(newSignInNonce('secret', now)).not.toBe(nonce);
  });
});
