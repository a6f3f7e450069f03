import type { Extension } from '../core/wire.ts';

/** The extension's key (specs/extensions/extension-offer-and-receipt.md). */
export const offerReceipt = 'offer-receipt';

/** The version of both payloads. */
export const payloadVersion = 1;

/** A JWS over the terms at `acceptIndex` of the challenge. */
export type SignedOffer = { format: 'jws'; acceptIndex: number; signature: string };

/** Offers as a challenge carries them. */
export const toOffersExtension = (offers: readonly SignedOffer[]): Extension => ({
  info: { offers: [...offers] },
  schema: { type: 'object', properties: { offers: { type: 'array' } }, required: ['offers'] },
});

/** A receipt as a settlement response carries it. */
export const toReceiptExtension = (signature: string): Extension => ({
  info: { receipt: { format: 'jws', signature } },
  schema: { type: 'object', properties: { receipt: { type: 'object' } }, required: ['receipt'] },
});
