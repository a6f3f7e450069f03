import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { decodeProtectedHeader, jwtVerify } from 'jose';
import { describe, expect, it } from 'vitest';
import { ConfigError } from '../../../../src/kit/errors.ts';
import { createCdpSigner } from '../../../../src/payments/chains/remote/cdp-jwt.ts';
import { createEd25519Secret } from '../../support/cdp-gatekeeper.ts';

const id = 'organizations/1/apiKeys/2';
const now = (): number => 1_800_000_000_900;
const request = { method: 'POST', url: 'https://api.cdp.coinbase.com/platform/v2/x402/settle' } as const;

const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const pemOf = (key: KeyObject, type: 'pkcs8' | 'sec1'): string =>
  key.export({ type, format: 'pem' }).toString();
const ed25519 = createEd25519Secret();

describe('a token for a request to the Coinbase platform', () => {
  it.each([
    ['an Ed25519 key', 'EdDSA', ed25519.secret, ed25519.publicKey],
    ['a P-256 key in PKCS#8', 'ES256', pemOf(p256.privateKey, 'pkcs8'), p256.publicKey],
    ['a P-256 key in SEC 1', 'ES256', pemOf(p256.privateKey, 'sec1'), p256.publicKey],
    [
      'a P-256 key on one line',
      'ES256',
      pemOf(p256.privateKey, 'sec1').replaceAll('\n', '\\n'),
      p256.publicKey,
    ],
  ])('is signed with %s and names key, request and time', async (_name, algorithm, secret, publicKey) => {
    const token = await createCdpSigner({ id, secret }, now)(request);
    const { payload, protectedHeader } = await jwtVerify(token, publicKey, {
      currentDate: new Date(now()),
    });
    expect(protectedHeader).toEqual({
      alg: algorithm,
      kid: id,
      typ: 'JWT',
      nonce: expect.stringMatching(/^[0-9a-f]{32}$/),
    });
    expect(payload).toEqual({
      sub: id,
      iss: 'cdp',
      uris: ['POST api.cdp.coinbase.com/platform/v2/x402/settle'],
      iat: 1_800_000_000,
      nbf: 1_800_000_000,
      exp: 1_800_000_120,
    });
  });

  it('has a nonce of its own', async () => {
    const sign = createCdpSigner({ id, secret: ed25519.secret }, now);
    const tokens = await Promise.all([sign(request), sign(request)]);
    const [one, other] = tokens.map((token) => decodeProtectedHeader(token)['nonce']);
    expect(one).not.toBe(other);
  });

  const seed = Buffer.from(ed25519.secret, 'base64').subarray(0, 32);
  const foreign = Buffer.from(createEd25519Secret().secret, 'base64').subarray(32);
  const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' });
  it.each([
    ['no key', 'nothing-of-the-kind'],
    ['a seed alone', seed.toString('base64')],
    ['a seed with the public key of another', Buffer.concat([seed, foreign]).toString('base64')],
    ['a key on another curve', pemOf(p384.privateKey, 'pkcs8')],
    ['a public key', createPublicKey(p256.privateKey).export({ type: 'spki', format: 'pem' }).toString()],
    ['half a file', pemOf(p256.privateKey, 'sec1').slice(0, 90)],
  ])('cannot be made with %s, and the error does not show it', (_name, secret) => {
    const create = () => createCdpSigner({ id, secret }, now);
    expect(create).toThrow(ConfigError);
    expect(create).toThrow(
      new ConfigError(
        'X402_CDP_API_KEY_SECRET: must be an Ed25519 key (64 bytes in base64) or a P-256 private key in PEM',
      ),
    );
  });
});
