import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { jwtVerify } from 'jose';

/** A new key in the form that Coinbase gives out: seed and public key in base64. */
export const createEd25519Secret = (): { secret: string; publicKey: KeyObject } => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const { d = '', x = '' } = privateKey.export({ format: 'jwk' });
  const secret = Buffer.concat([Buffer.from(d, 'base64url'), Buffer.from(x, 'base64url')]);
  return { secret: secret.toString('base64'), publicKey };
};

export interface CdpGatekeeper {
  admit(request: IncomingMessage): Promise<boolean>;
  /** `Authorization` of every request that came, admitted or not. */
  seen: string[];
}

/** Lets in what Coinbase would: a token of that key for this very request, in its time, never seen before. */
export const createCdpGatekeeper = (key: {
  id: string;
  publicKey: KeyObject;
  now: () => number;
}): CdpGatekeeper => {
  const nonces = new Set<unknown>();
  const seen: string[] = [];
  return {
    seen,
    admit: async (request) => {
      const authorization = request.headers.authorization ?? '';
      seen.push(authorization);
      try {
        const { payload, protectedHeader } = await jwtVerify(
          authorization.replace(/^Bearer /, ''),
          key.publicKey,
          { issuer: 'cdp', subject: key.id, typ: 'JWT', currentDate: new Date(key.now()) },
        );
        const { nonce, kid } = protectedHeader;
        const isFresh = typeof nonce === 'string' && !nonces.has(nonce);
        nonces.add(nonce);
        const wanted = [`${request.method} ${request.headers.host}${request.url}`];
        return isFresh && kid === key.id && JSON.stringify(payload['uris']) === JSON.stringify(wanted);
      } catch {
        return false;
      }
    },
  };
};
