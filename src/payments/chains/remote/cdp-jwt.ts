import { createPrivateKey, createPublicKey, randomBytes, type KeyObject } from 'node:crypto';
import type { CdpKey } from '../../x402-settings.ts';
import { ConfigError } from '../../../kit/errors.ts';

const lifeSeconds = 120;
const nonceBytes = 16;
const seedBytes = 32;
const ed25519Pattern = /^[A-Za-z0-9+/]{86}(?:==)?$/;

const unreadable = (): ConfigError =>
  new ConfigError(
    'X402_CDP_API_KEY_SECRET: must be an Ed25519 key (64 bytes in base64) or a P-256 private key in PEM',
  );

/** Reads the seed and the public key, which must belong to the seed: otherwise nobody accepts the signatures. */
const readEd25519 = (secret: string): KeyObject => {
  const bytes = Buffer.from(secret, 'base64');
  const x = bytes.subarray(seedBytes).toString('base64url');
  const d = bytes.subarray(0, seedBytes).toString('base64url');
  const key = createPrivateKey({ key: { kty: 'OKP', crv: 'Ed25519', d, x }, format: 'jwk' });
  if (createPublicKey(key).export({ format: 'jwk' }).x !== x) throw unreadable();
  return key;
};

/** Reads PKCS#8, or SEC 1 as Coinbase issues it. Line breaks may be written as `\n`, as in one-line settings. */
const readPem = (secret: string): KeyObject => {
  const key = createPrivateKey(secret.replaceAll('\\n', '\n'));
  if (key.asymmetricKeyDetails?.namedCurve !== 'prime256v1') throw unreadable();
  return key;
};

const readKey = (text: string): { key: KeyObject; algorithm: 'EdDSA' | 'ES256' } => {
  const secret = text.trim();
  try {
    return ed25519Pattern.test(secret)
      ? { key: readEd25519(secret), algorithm: 'EdDSA' }
      : { key: readPem(secret), algorithm: 'ES256' };
  } catch {
    // The reader's error is left out, as it may quote the secret.
    throw unreadable();
  }
};

export type SignCdpRequest = ReturnType<typeof createCdpSigner>;

/**
 * Signs requests to Coinbase's platform, each with a token of its own that names method, host and path and lives for
 * two minutes (https://docs.cdp.coinbase.com/get-started/authentication/jwt-authentication). `now`: epoch
 * milliseconds. Throws ConfigError for a secret that is no key.
 */
export const createCdpSigner = ({ id, secret }: CdpKey, now: () => number) => {
  const { key, algorithm } = readKey(secret);
  /** Returns the token of one request, for `Authorization: Bearer`. */
  return async ({ method, url }: { method: 'GET' | 'POST'; url: string }): Promise<string> => {
    const { SignJWT } = await import('jose');
    const { host, pathname } = new URL(url);
    const issuedAt = Math.floor(now() / 1_000);
    return new SignJWT({ uris: [`${method} ${host}${pathname}`] })
      .setProtectedHeader({
        alg: algorithm,
        kid: id,
        typ: 'JWT',
        nonce: randomBytes(nonceBytes).toString('hex'),
      })
      .setSubject(id)
      .setIssuer('cdp')
      .setIssuedAt(issuedAt)
      .setNotBefore(issuedAt)
      .setExpirationTime(issuedAt + lifeSeconds)
      .sign(key);
  };
};
