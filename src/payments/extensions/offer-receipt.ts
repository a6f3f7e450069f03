import type { JsonObject } from '../../json.ts';
import type { Extension } from '../wire.ts';

/** The extension's key (specs/extensions/extension-offer-and-receipt.md). */
export const offerReceipt = 'offer-receipt';

/** The version of both payloads. */
export const payloadVersion = 1;

const signed: JsonObject = {
  type: 'object',
  properties: { format: { const: 'jws' }, signature: { type: 'string' } },
  required: ['format', 'signature'],
};

/** Offers as a challenge carries them. */
export const toOffersExtension = (offers: readonly JsonObject[]): Extension => ({
  info: { offers: [...offers] },
  schema: {
    type: 'object',
    properties: { offers: { type: 'array', items: signed } },
    required: ['offers'],
  },
});

/** A receipt as a settlement response carries it. */
export const toReceiptExtension = (signature: string): Extension => ({
  info: { receipt: { format: 'jws', signature } },
  schema: { type: 'object', properties: { receipt: signed }, required: ['receipt'] },
});
