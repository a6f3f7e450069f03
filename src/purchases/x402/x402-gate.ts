import type { Clock } from '../../kit/clock.ts';
import type { Log } from '../../kit/log.ts';
import type { Nano } from '../../kit/money.ts';
import { createChallengeBook, supportedKinds, type Challenge } from '../../payments/core/challenge.ts';
import { declareExtensions } from '../../payments/extensions/declared-extensions.ts';
import type { SaleDescription } from '../../payments/extensions/sale-description.ts';
import { createOfferBook } from '../../payments/extensions/signed-offers.ts';
import type { FacilitatorTimeouts } from '../../payments/core/facilitator.ts';
import { createPaymentMethods, type PayableNetwork } from '../../payments/core/payment-methods.ts';
import type { Extensions, ResourceInfo } from '../../payments/core/wire.ts';
import type { Payment, Store } from '../../store/store.ts';
import { defaultHeaderBytes } from '../../payments/x402-settings.ts';
import { createRefundUpkeep } from '../refunds/refund-upkeep.ts';
import { createAddReceipt } from './x402-answers.ts';
import { createPaymentDocuments } from './x402-documents.ts';
import { createFormerTermsBook } from './x402-former-terms.ts';
import { createPaymentHealth, type NetworkStatus } from './x402-health.ts';
import { createPaymentLeases } from './x402-lease.ts';
import { createPurchasing, type PayOutcome, type PayRequest } from './x402-purchase.ts';
import {
  createReconcile,
  type NamedPayment,
  type ReconcileOptions,
  type ReconcileReport,
} from './x402-reconcile.ts';
import { createAccountLeases } from './x402-account-lease.ts';
import { createSettlements } from './x402-settlement.ts';
import { beginUpkeep } from './x402-upkeep.ts';

export type { Challenge } from '../../payments/core/challenge.ts';
export type { SaleDescription } from '../../payments/extensions/sale-description.ts';
export type { Proofs } from '../../payments/core/parse-proof.ts';
export type { Receipt } from './x402-answers.ts';
export type { NetworkStatus } from './x402-health.ts';
export type { PayOutcome, PayRequest } from './x402-purchase.ts';
export type { ReconcileOptions, ReconcileReport } from './x402-reconcile.ts';

/** Sells single requests for x402 payments. */
export interface X402Gate {
  /**
   * What is owed for a request without payment; `reason` says why a payment was refused. Throws AppError
   * `payment_unavailable` when no network can be offered.
   */
  challenge(request: { price: Nano; resource: PayRequest['resource']; reason?: string }): Challenge;
  /**
   * Serves a request once for each proof. Throws AppError: `invalid_payment` (the proof cannot be read),
   * `payment_conflict` (it paid another request), `payment_in_progress` (it is being worked on),
   * `payment_pending` (its settlement may or may not have happened), `payment_unavailable` (nothing was taken),
   * and whatever `produce` throws.
   */
  pay(request: PayRequest): Promise<PayOutcome>;
  /** Looks what became of payments that are due for it, and brings them to an end where that is safe. */
  reconcile(options: ReconcileOptions): Promise<ReconcileReport>;
  /** The same for one payment. Null: there is none, or somebody works on it. */
  reconcileOne(named: NamedPayment): Promise<Payment | null>;
  status(): NetworkStatus[];
  /** JSON text of what the facilitator in this process settles; null when there is none. */
  supported(): string | null;
  /** JSON text of what is sold and how, for crawlers; null when nothing was described. */
  manifest(): string | null;
  /** JSON text of the DID document with the key that signs offers and receipts. Rejects when the store does. */
  didDocument(): Promise<string>;
  /** Loads what the networks need and asks the facilitators, now and from time to time until `close`. */
  warmUp(): Promise<void>;
  /**
   * Keeps payments in order until the signal aborts: reconciles them, forgets what has had its time, and writes down
   * which terms are offered.
   */
  begin(signal: AbortSignal): Promise<void>;
  /** Waits for what is being written down. */
  close(): Promise<void>;
}

export interface X402GateOptions {
  store: Store;
  /** Each with its wallet: see assignWallets. */
  networks: readonly PayableNetwork[];
  /** The `{base_url}` without a trailing slash; read when terms are made. */
  publicUrl: () => string;
  /** Names the rule that prices are made by now: terms of another rule stay valid for a while after a change. */
  pricing?: string;
  /** The longest `PAYMENT-REQUIRED`; default 3,200. What finds no room in it is told over MCP. */
  headerBytes?: number;
  /** What is sold, in a few words; default "Influencer search". */
  describe?: () => string;
  /** What is sold, for catalogues and crawlers; absent: nothing is described. */
  discovery?: SaleDescription;
  clock: Clock;
  log: Log;
  /** Names this process among all that share the store. */
  owner: string;
  /** How long a dead process's payments stay its own; default 30,000 ms. */
  leaseMs?: number;
  timeouts?: Partial<FacilitatorTimeouts>;
  /**
   * What payments of one network may come to that a facilitator elsewhere calls settled and no node could check;
   * default 0: they are pending until a node answers.
   */
  uncheckedLimit?: Nano;
  fetch?: typeof globalThis.fetch;
}

const defaultLeaseMs = 30_000;
const defaultPricing = 'default';

/** Where it is sold. Over MCP it is the endpoint: catalogues tell its tools apart by the tool's name. */
const describeResources = (
  publicUrl: string,
  { sale, description }: { sale: SaleDescription | null; description: string },
): Record<PayRequest['resource'], ResourceInfo> => {
  const sold = {
    description,
    mimeType: 'application/json',
    ...(sale === null ? {} : { serviceName: sale.serviceName, tags: sale.tags }),
  };
  return {
    rest: { url: `${publicUrl}/v1/search`, ...sold },
    mcp: { url: `${publicUrl}/mcp`, ...sold },
  };
};

/** Throws ConfigError for a network or key that cannot be used. Loads nothing heavy and asks nobody yet. */
export const createX402Gate = (options: X402GateOptions): X402Gate => {
  const { store, clock, owner, publicUrl, discovery: sale = null } = options;
  const log = options.log.child({ part: 'x402' });
  const closing = new AbortController();
  const uncheckedLimit = options.uncheckedLimit ?? 0n;
  const methods = createPaymentMethods({
    ...options,
    takesUnchecked: uncheckedLimit > 0n,
    log,
    now: () => clock.now(),
    accountLeaseOf: createAccountLeases({ store, owner, clock, log }),
    onTrouble: () => health.askSoon(),
  });
  const describe = options.describe ?? (() => 'Influencer search');
  const resources = (): Record<PayRequest['resource'], ResourceInfo> =>
    describeResources(publicUrl(), { sale, description: describe() });
  const declared = declareExtensions(sale);
  const declaredFor = (resourceUrl: string): Extensions | null => {
    const { rest, mcp } = resources();
    if (resourceUrl === rest.url) return declared.rest;
    return resourceUrl === mcp.url ? declared.mcp : null;
  };
  const documents = createPaymentDocuments({
    store,
    methods,
    sale,
    resources,
    publicUrl,
    clock,
    log,
    onSigner: () => book.clear(),
  });
  const offerBook = createOfferBook({ signer: documents.signer, now: () => clock.now(), log });
  const book = createChallengeBook(methods, {
    offerBook,
    headerBytes: options.headerBytes ?? defaultHeaderBytes,
    now: () => clock.now(),
  });
  const leases = createPaymentLeases({
    store,
    owner,
    leaseMs: options.leaseMs ?? defaultLeaseMs,
    clock,
    log,
  });
  const settlements = createSettlements({
    store,
    leases,
    declaredFor,
    uncheckedLimit,
    addReceipt: createAddReceipt({ signer: documents.signer, clock, log }),
    clock,
    log,
  });
  const health = createPaymentHealth({
    methods,
    log,
    onChange: () => {
      book.clear();
      documents.clear();
      void documents.load();
    },
    signal: closing.signal,
  });
  const deliveries = new Set<Promise<void>>();

  const writeDelivery = async (identity: string): Promise<void> => {
    try {
      await store.advancePayment({ identity, from: ['settled'], to: 'delivered', now: clock.now() });
    } catch (error) {
      log.error({ err: error, payment: identity }, 'a delivered payment could not be written down');
    }
  };
  const noteDelivery = (identity: string): void => {
    const writing = writeDelivery(identity).finally(() => deliveries.delete(writing));
    deliveries.add(writing);
  };
  let description = describe();
  /** Challenges and the manifest are kept as they were made: anew when what they describe is another thing. */
  const noticeDescription = (): void => {
    const current = describe();
    if (current === description) return;
    description = current;
    book.clear();
    documents.clear();
  };
  const challenge: X402Gate['challenge'] = ({ resource, ...request }) => {
    noticeDescription();
    return book.challenge({ ...request, resource: resources()[resource], extensions: declared[resource] });
  };

  const formerTerms = createFormerTermsBook({
    store,
    methods,
    pricing: options.pricing ?? defaultPricing,
    clock,
  });
  const reconcile = createReconcile({
    store,
    methods,
    leases,
    settlements,
    clock,
    log,
    signal: closing.signal,
  });

  const lookAtRefunds = createRefundUpkeep({ store, networks: options.networks, clock });

  return {
    challenge,
    pay: createPurchasing({
      store,
      clock,
      log,
      methods,
      leases,
      settlements,
      recentFeePayers: health.recentFeePayers,
      formerTerms,
      declaredFor,
      resources,
      challenge,
      noteDelivery,
    }),
    reconcile,
    reconcileOne: reconcile.one,
    begin: (signal) => beginUpkeep({ store, reconcile, lookAtRefunds, formerTerms, clock, log, signal }),
    status: () => health.status(),
    supported: () => {
      const supported = supportedKinds(methods);
      return supported === null ? null : JSON.stringify(supported);
    },
    manifest: () => {
      noticeDescription();
      return documents.manifest();
    },
    didDocument: () => documents.didDocument(),
    warmUp: async () => {
      await Promise.all([documents.load(), health.start()]);
    },
    close: async () => {
      closing.abort();
      await health.stopped();
      await documents.stopped();
      await Promise.all(deliveries);
    },
  };
};
