import type { Log } from '../../kit/log.ts';
import { createDocumentSigner, newSigningKey, type DocumentSigner } from '../wire/document-signer.ts';
import { version } from '../wire/offer-receipt.ts';
import type { JsonObject } from '../../kit/json.ts';
import { memoizeAsync } from '../../kit/memoize.ts';
import type { Store } from '../../store/store.ts';

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
    /** Null until the key is loaded. */
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
    /** Signs what a receipt of an account says. Rejects when the store fails. */
    signReceipt: async (receipt: JsonObject): Promise<string> =>
      (await requireSigner()).sign({ version, ...receipt }),
  };
};
