import type { Clock } from '../../kit/clock.ts';
import type { Log } from '../../kit/log.ts';
import { offeredTerms, type PaymentMethod } from '../../payments/core/challenge.ts';
import {
  createDocumentSigner,
  newSigningKey,
  type DocumentSigner,
} from '../../payments/extensions/document-signer.ts';
import { version } from '../../payments/extensions/offer-receipt.ts';
import { createManifest } from '../../payments/extensions/manifest.ts';
import type { SaleDescription } from '../../payments/extensions/sale-description.ts';
import type { JsonObject } from '../../kit/json.ts';
import { memoizeAsync } from '../../kit/memoize-async.ts';
import type { Store } from '../../store/store.ts';
import type { SoldResources } from './x402-resources.ts';

/** Shared by every process on one store, so that each can answer with the key of all. */
const secretName = 'x402-signing-key';

/** States the key that this service signs with, and what it sells. `onSigner` is called when the key is loaded. */
export const createPaymentDocuments = (context: {
  store: Pick<Store, 'getOrCreateSecret'>;
  methods: readonly PaymentMethod[];
  sales: readonly SaleDescription[];
  resources: SoldResources;
  publicUrl: () => string;
  clock: Clock;
  log: Log;
  onSigner: () => void;
}) => {
  const { store, methods, sales, resources, publicUrl, clock, log, onSigner } = context;
  let signer: DocumentSigner | null = null;
  let manifest: { key: string; text: string } | null = null;

  const requireSigner = memoizeAsync(async () => {
    const key = await store.getOrCreateSecret({ name: secretName, value: newSigningKey() });
    signer = createDocumentSigner({ key, publicUrl });
    onSigner();
    return signer;
  });

  const makeManifest = (onSale: readonly SaleDescription[]): JsonObject =>
    createManifest({
      sales: onSale.map((sale) => ({
        sale,
        resources: {
          rest: resources.find({ sale: sale.name, transport: 'rest' }).resource,
          mcp: resources.find({ sale: sale.name, transport: 'mcp' }).resource,
        },
        accepts: offeredTerms(methods, sale.price.least).map(({ requirements }) => requirements),
      })),
      publicUrl: publicUrl(),
      now: clock.now(),
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
    /** Returns the manifest for crawlers as JSON text; null when nothing is on sale. Made once, until it changes. */
    manifest: (): string | null => {
      const onSale = sales.filter((sale) => sale.isFree !== true && sale.isOnSale());
      if (onSale.length === 0) return null;
      const goods = onSale.map(({ name, description }) => `${name} ${description()}`);
      const key = [publicUrl(), ...goods].join('\n');
      if (manifest?.key !== key) manifest = { key, text: JSON.stringify(makeManifest(onSale)) };
      return manifest.text;
    },
    /** Forgets the manifest, because the terms may have changed. */
    clear: (): void => {
      manifest = null;
    },
  };
};
