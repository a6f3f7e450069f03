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
  /** Whether payments on a network can be taken now. */
  isReady: (method: PaymentMethod) => boolean;
  sales: readonly SaleDescription[];
  resources: SoldResources;
  publicUrl: () => string;
  clock: Clock;
  log: Log;
  onSigner: () => void;
}) => {
  const { store, methods, isReady, sales, resources, publicUrl, clock, log, onSigner } = context;
  let signer: DocumentSigner | null = null;
  let manifest: { key: string; text: string } | null = null;

  const requireSigner = memoizeAsync(async () => {
    const key = await store.getOrCreateSecret({ name: secretName, value: newSigningKey() });
    signer = createDocumentSigner({ key, publicUrl });
    onSigner();
    return signer;
  });

  /** What can be bought now, at the terms of the cheapest call and on the networks that are ready. */
  const soldItems = () =>
    sales.flatMap((sale) => {
      const price = sale.isFree !== true && sale.isOnSale() ? sale.price() : null;
      if (price === null) return [];
      const sold = { sale: sale.name, isSandbox: sale.isSandbox() };
      const rest = resources.find({ ...sold, transport: 'rest' }).resource;
      const mcp = resources.find({ ...sold, transport: 'mcp' }).resource;
      const accepts = offeredTerms(methods.filter(isReady), price.least).map(
        ({ requirements }) => requirements,
      );
      return [{ sale, price, resources: { rest, mcp }, accepts }];
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
      const items = soldItems();
      if (items.length === 0) return null;
      const key = JSON.stringify([
        publicUrl(),
        items.map(({ resources: { rest }, accepts }) => [rest, accepts]),
      ]);
      if (manifest?.key !== key)
        manifest = {
          key,
          text: JSON.stringify(createManifest({ sales: items, publicUrl: publicUrl(), now: clock.now() })),
        };
      return manifest.text;
    },
  };
};
