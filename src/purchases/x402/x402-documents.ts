import type { Clock } from '../../kit/clock.ts';
import type { Log } from '../../kit/log.ts';
import { offeredTerms, type PaymentMethod } from '../../payments/core/challenge.ts';
import {
  createDocumentSigner,
  newSigningKey,
  type DocumentSigner,
} from '../../payments/extensions/document-signer.ts';
import { createManifest } from '../../payments/extensions/manifest.ts';
import type { SaleDescription } from '../../payments/extensions/sale-description.ts';
import type { ResourceInfo } from '../../payments/core/wire.ts';
import { once } from '../../kit/once.ts';
import type { Store } from '../../store/store.ts';

/** What this service states of itself: the key that it signs with, and what it sells. */
export interface PaymentDocuments {
  /** Null until the key was loaded. */
  signer(): DocumentSigner | null;
  /** Loads the key. Never rejects: a store that cannot be asked now is asked again at the next call. */
  load(): Promise<void>;
  /** JSON text of the DID document with the public key. Rejects when the store cannot be asked. */
  didDocument(): Promise<string>;
  /** JSON text for crawlers; null when nothing is described. Made once, until `clear`. */
  manifest(): string | null;
  /** Forgets the manifest: what is offered may have changed. */
  clear(): void;
  /** Resolves when nothing is being loaded. */
  stopped(): Promise<void>;
}

/** The same for every process on one store, so that each can be asked for the key of all. */
const secretName = 'x402-signing-key';

export const createPaymentDocuments = (context: {
  store: Pick<Store, 'getOrCreateSecret'>;
  methods: readonly PaymentMethod[];
  /** Null describes nothing. */
  sale: SaleDescription | null;
  resources: () => Readonly<Record<'rest' | 'mcp', ResourceInfo>>;
  publicUrl: () => string;
  clock: Clock;
  log: Log;
  /** The key is there: from now on is signed. */
  onSigner: () => void;
}): PaymentDocuments => {
  const { store, methods, sale, resources, publicUrl, clock, log, onSigner } = context;
  let signer: DocumentSigner | null = null;
  let loading: Promise<void> | null = null;
  let manifest: { publicUrl: string; text: string } | null = null;

  const requireSigner = once(async () => {
    const key = await store.getOrCreateSecret({ name: secretName, value: newSigningKey() });
    signer = createDocumentSigner({ key, publicUrl });
    onSigner();
    return signer;
  });
  const tryToLoad = async (): Promise<void> => {
    try {
      await requireSigner();
    } catch (error) {
      log.error({ err: error }, 'the key for offers and receipts could not be loaded; nothing is signed');
    }
  };

  return {
    signer: () => signer,
    load: async () => {
      if (signer !== null) return;
      loading ??= tryToLoad().finally(() => {
        loading = null;
      });
      await loading;
    },
    didDocument: async () => JSON.stringify((await requireSigner()).didDocument()),
    manifest: () => {
      if (sale === null) return null;
      const url = publicUrl();
      if (manifest?.publicUrl !== url) {
        const accepts = offeredTerms(methods, sale.price.least).map(({ requirements }) => requirements);
        const made = createManifest({
          sale,
          publicUrl: url,
          resources: resources(),
          accepts,
          now: clock.now(),
        });
        manifest = { publicUrl: url, text: JSON.stringify(made) };
      }
      return manifest.text;
    },
    clear: () => {
      manifest = null;
    },
    stopped: async () => {
      await loading;
    },
  };
};
