import { createPublicKey, verify } from 'node:crypto';
import { toSignedText, type SignedMessage } from '../extensions/sign-in-with-x.ts';
import { decodeBase58 } from './base58.ts';

const publicKeyBytes = 32;
const signatureBytes = 64;

/** Returns the wallet that signed; null when the signature is not that of the address. */
export const findSolanaSigner = (message: SignedMessage): string | null => {
  const publicKey = decodeBase58(message.address);
  const signature = decodeBase58(message.signature);
  if (publicKey?.length !== publicKeyBytes || signature?.length !== signatureBytes) return null;
  const key = createPublicKey({
    key: { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(publicKey).toString('base64url') },
    format: 'jwk',
  });
  const text = toSignedText(message, { account: 'Solana', whenUnstated: [] });
  return verify(null, Buffer.from(text), key, signature) ? `solana:${message.address}` : null;
};
