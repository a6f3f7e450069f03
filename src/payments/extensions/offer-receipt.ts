import type { Extension, SettleResponse } from '../core/wire.ts';
import type { DocumentSigner } from './document-signer.ts';

/** The extension's key (specs/extensions/extension-offer-and-receipt.md). */
export const offerReceipt = 'offer-receipt';

/** The version of both payloads. */
export const payloadVersion = 1;

/** A JWS over the terms at `acceptIndex` of the challenge. */
export type SignedOffer = { format: 'jws'; acceptIndex: number; signature: string };

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
    version: payloadVersion,
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
