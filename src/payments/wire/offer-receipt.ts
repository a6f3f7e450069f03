import { throttle } from '../../kit/repeat.ts';
import type { Log } from '../../kit/log.ts';
import type { Extension, PaymentRequirements, SettleResponse } from '../chains/core/wire.ts';
import type { DocumentSigner } from './document-signer.ts';

/** The extension's key (specs/extensions/extension-offer-and-receipt.md). */
export const offerReceipt = 'offer-receipt';

/** The version of the payloads. */
export const version = 1;

/** A JWS over the terms at `acceptIndex` of the challenge. */
export type SignedOffer = { format: 'jws'; acceptIndex: number; signature: string };

/**
 * Signs an offer for each of the terms, in their order. It binds for as long as the terms allow, even when the price
 * changes. Empty when nothing can be signed.
 */
export type SignOffers = (resourceUrl: string, accepts: readonly PaymentRequirements[]) => SignedOffer[];

const complainEveryMs = 60_000;

/** `signer` returns null while the key is not known. `now`: epoch milliseconds. */
export const createSignOffers = ({
  signer,
  now,
  log,
}: {
  signer: () => DocumentSigner | null;
  now: () => number;
  log: Log;
}): SignOffers => {
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

/** Returns the extension of a challenge that carries offers. */
export const toOffersExtension = (offers: readonly SignedOffer[]): Extension => ({
  info: { offers: [...offers] },
  schema: { type: 'object', properties: { offers: { type: 'array' } }, required: ['offers'] },
});

/**
 * Signs the statement that a payment was taken and its result given. It names the transaction, so that the amount can
 * be looked up. Null when the settlement failed, or the payer is not known. Throws the errors of the signer.
 */
export const signReceipt = (
  response: SettleResponse,
  { signer, resourceUrl, now }: { signer: DocumentSigner; resourceUrl: string; now: number },
): Extension | null => {
  const { success, payer, network, transaction } = response;
  if (!success || payer === undefined) return null;
  const signature = signer.sign({
    version,
    network,
    resourceUrl,
    payer,
    issuedAt: Math.floor(now / 1000),
    ...(transaction === '' ? {} : { transaction }),
  });
  return {
    info: { receipt: { format: 'jws', signature } },
    schema: { type: 'object', properties: { receipt: { type: 'object' } }, required: ['receipt'] },
  };
};
