import { createPrivateKey, createPublicKey, generateKeyPairSync, sign, type KeyObject } from 'node:crypto';
import type { Clock } from '../../kit/clock.ts';
import { canonicalJson, type JsonObject } from '../../kit/json.ts';
import { throttle } from '../../kit/repeat.ts';
import type { Log } from '../../kit/log.ts';
import type { Extension, PaymentRequirements, SettleResponse } from '../chains/core/wire.ts';
import { memoizeAsync } from '../../kit/memoize.ts';
import type { Store } from '../../store/store.ts';

export type DocumentSigner = ReturnType<typeof createDocumentSigner>;

/** Makes an Ed25519 key, as PKCS #8 in base64. */
export const newSigningKey = (): string =>
  generateKeyPairSync('ed25519').privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64');

/** Its document is at `/.well-known/did.json` of a host, else at `did.json` below the base URL (did:web, 3.2). */
export const didOf = (publicUrl: string): string => {
  const { host, pathname } = new URL(publicUrl);
  const parts = pathname.split('/').filter((part) => part !== '');
  return ['did', 'web', encodeURIComponent(host), ...parts].join(':');
};

const encode = (value: JsonObject): string => Buffer.from(canonicalJson(value)).toString('base64url');

const toJwk = (privateKey: KeyObject): JsonObject => {
  const { kty = '', crv = '', x = '' } = createPublicKey(privateKey).export({ format: 'jwk' });
  return { kty, crv, x, alg: 'EdDSA', use: 'sig' };
};

/** Takes a key that `newSigningKey` made. Reads `publicUrl` at every use. Throws for a key that cannot be read. */
export const createDocumentSigner = ({ key, publicUrl }: { key: string; publicUrl: () => string }) => {
  const privateKey = createPrivateKey({ key: Buffer.from(key, 'base64'), format: 'der', type: 'pkcs8' });
  const publicKeyJwk = toJwk(privateKey);
  const keyId = (): string => `${didOf(publicUrl())}#key-1`;
  return {
    /** Returns a JWS in compact form over the canonical JSON (JCS) of the payload. Takes some 30 microseconds. */
    sign: (payload: JsonObject): string => {
      const signed = `${encode({ alg: 'EdDSA', kid: keyId() })}.${encode(payload)}`;
      return `${signed}.${sign(null, Buffer.from(signed), privateKey).toString('base64url')}`;
    },
    /** Returns the DID document with the public key, for verifiers. */
    didDocument: (): JsonObject => {
      const controller = didOf(publicUrl());
      const id = keyId();
      return {
        '@context': ['https://www.w3.org/ns/did/v1', 'https://w3id.org/security/suites/jws-2020/v1'],
        id: controller,
        verificationMethod: [{ id, type: 'JsonWebKey2020', controller, publicKeyJwk }],
        assertionMethod: [id],
      };
    },
  };
};

/** The extension's key (specs/extensions/extension-offer-and-receipt.md). */
export const offerReceipt = 'offer-receipt';

const version = 1;

/** A JWS over the terms at `acceptIndex` of the challenge. */
export type SignedOffer = { format: 'jws'; acceptIndex: number; signature: string };

/** One for each of the terms, binding as long as they allow, even when the price changes. Empty without a key. */
export type SignOffers = (resourceUrl: string, accepts: readonly PaymentRequirements[]) => SignedOffer[];

const complainEveryMs = 60_000;

/** `signer` returns null while the key is not known. `now`: epoch milliseconds. */
export const createSignOffers = (context: {
  signer: () => DocumentSigner | null;
  now: () => number;
  log: Log;
}): SignOffers => {
  const { signer, now, log } = context;
  const complain = throttle<unknown>(complainEveryMs, (error, leftOut) =>
    log.error({ err: error, leftOut }, 'offers could not be signed; challenges go out without'),
  );
  return (resourceUrl, accepts) => {
    const documents = signer();
    if (documents === null) return [];
    try {
      return accepts.map(({ scheme, network, asset, payTo, amount, maxTimeoutSeconds }, acceptIndex) => {
        const validUntil = Math.floor(now() / 1000) + maxTimeoutSeconds;
        const terms = { version, resourceUrl, scheme, network, asset, payTo, amount };
        return { format: 'jws', acceptIndex, signature: documents.sign({ ...terms, validUntil }) };
      });
    } catch (error) {
      complain(error);
      return [];
    }
  };
};

export const toOffersExtension = (offers: readonly SignedOffer[]): Extension => ({
  info: { offers: [...offers] },
  schema: { type: 'object', properties: { offers: { type: 'array' } }, required: ['offers'] },
});

/**
 * Adds a signed statement that a payment was taken and its result given to the response of its settlement. Leaves it out
 * when it cannot be signed: the money has moved, and the answer must go out. `resourceUrl`: the address that was paid for.
 */
export const addReceipt = (
  { signer, clock, log }: { signer: () => DocumentSigner | null; clock: Clock; log: Log },
  response: SettleResponse,
  { identity, resourceUrl }: { identity: string; resourceUrl: string },
): SettleResponse => {
  const documents = signer();
  const { success, payer, network, transaction } = response;
  if (documents === null || !success || payer === undefined) return response;
  const issuedAt = Math.floor(clock.now() / 1_000);
  try {
    const signature = documents.sign({
      ...{ version, network, resourceUrl, payer, issuedAt },
      // The amount can be looked up by it.
      ...(transaction === '' ? {} : { transaction }),
    });
    const receipt: Extension = {
      info: { receipt: { format: 'jws', signature } },
      schema: { type: 'object', properties: { receipt: { type: 'object' } }, required: ['receipt'] },
    };
    return { ...response, extensions: { ...response.extensions, [offerReceipt]: receipt } };
  } catch (error) {
    log.error({ err: error, payment: identity }, 'a receipt could not be signed and is left out');
    return response;
  }
};

/** Shared by every process on one store, so that each can answer with the key of all. */
const secretName = 'x402-signing-key';

/** Keeps the key that this service signs offers and receipts with. `onSigner` is called when the key is loaded. */
export const createPaymentDocuments = (context: {
  store: Pick<Store, 'getOrCreateSecret'>;
  publicUrl: () => string;
  log: Log;
  onSigner: () => void;
}) => {
  const { store, publicUrl, log, onSigner } = context;
  let signer: DocumentSigner | null = null;

  const requireSigner = memoizeAsync(async () => {
    const key = await store.getOrCreateSecret({ name: secretName, value: newSigningKey() });
    signer = createDocumentSigner({ key, publicUrl });
    onSigner();
    return signer;
  });

  return {
    signer: (): DocumentSigner | null => signer,
    /** Loads the key. Never rejects: when the store fails, the next call asks it again. */
    load: async (): Promise<void> => {
      try {
        await requireSigner();
      } catch (error) {
        log.error({ err: error }, 'the key for offers and receipts could not be loaded; nothing is signed');
      }
    },
    /** Returns the DID document with the public key as JSON text. Rejects when the store fails. */
    didDocument: async (): Promise<string> => JSON.stringify((await requireSigner()).didDocument()),
    signReceipt: async (receipt: JsonObject): Promise<string> =>
      (await requireSigner()).sign({ version, ...receipt }),
  };
};
