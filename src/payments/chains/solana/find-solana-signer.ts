import { createPublicKey, verify } from 'node:crypto';
import type { SignedText } from '../core/network-family.ts';
import { decodeBase58 } from './base58.ts';

const publicKeyBytes = 32;
const signatureBytes = 64;

/** Returns the wallet that signed; null when the signature is not that of the address. */
export const findSolanaSigner = ({ text, address, ...signed }: SignedText): string | null => {
  const publicKey = decodeBase58(address);
  const signature = decodeBase58(signed.signature);
  if (publicKey?.length !== publicKeyBytes || signature?.length !== signatureBytes) return null;
  const key = createPublicKey({
    key: { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(publicKey).toString('base64url') },
    format: 'jwk',
  });
  return verify(null, Buffer.from(text), key, signature) ? `solana:${address}` : null;
};
