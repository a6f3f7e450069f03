import type { Extension, SettleResponse } from '../core/wire.ts';
import type { DocumentSigner } from './document-signer.ts';
import { payloadVersion, toReceiptExtension } from './offer-receipt.ts';

/**
 * A signed statement that a payment was taken and its result given. It names the transaction, so that the amount can be
 * looked up. Null when the settlement failed, or nobody knows who paid. Throws what the signer throws.
 */
export const signReceipt = (
  response: SettleResponse,
  { signer, resourceUrl, now }: { signer: DocumentSigner; resourceUrl: string; now: number },
): Extension | null => {
  const { success, payer, network, transaction } = response;
  if (!success || payer === undefined) return null;
  return toReceiptExtension(
    signer.sign({
      version: payloadVersion,
      network,
      resourceUrl,
      payer,
      issuedAt: Math.floor(now / 1000),
      ...(transaction === '' ? {} : { transaction }),
    }),
  );
};
