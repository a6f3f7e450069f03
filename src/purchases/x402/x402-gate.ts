import type { Clock } from '../../kit/clock.ts';
import type { Log } from '../../kit/log.ts';
import type { Nano } from '../../kit/money.ts';
import { createChallengeRegistry, supportedKinds, type Challenge } from '../../payments/core/challenge.ts';
import type { SaleDescription } from '../../payments/extensions/sale-description.ts';
import { createSignOffers } from '../../payments/extensions/offer-receipt.ts';
import type { FacilitatorTimeouts } from '../../payments/core/facilitator.ts';
import { createPaymentMethods, type PayableNetwork } from '../../payments/payment-methods.ts';
import type { Payment, Store } from '../../store/store.ts';
import { defaultHeaderBytes } from '../../payments/x402-settings.ts';
import { movePayment } from './move-payment.ts';
import type { X402Context } from './x402-context.ts';
import { createPaymentDocuments } from './x402-documents.ts';
import { createFormerTermsRegistry } from './x402-former-terms.ts';
import { createPaymentHealth, type NetworkStatus } from './x402-health.ts';
import { pay, type PayOutcome, type PayRequest } from './x402-purchase.ts';
import {
  reconcile,
  reconcileOne,
  type NamedPayment,
  type ReconcileOptions,
  type ReconcileReport,
} from './x402-reconcile.ts';
import { createAccountLeases } from './x402-account-lease.ts';
import { createSoldResources, type SoldOver } from './x402-resources.ts';
import { beginUpkeep } from './x402-upkeep.ts';

export type { Challenge } from '../../payments/core/challenge.ts';
export type { SaleDescription } from '../../payments/extensions/sale-description.ts';
export type { Proofs } from '../../payments/parse-proof.ts';
export type { Receipt } from './x402-answers.ts';
export type { NetworkStatus } from './x402-health.ts';
export type { PayOutcome, PayRequest } from './x402-purchase.ts';
export type { ReconcileOptions, ReconcileReport } from './x402-reconcile.ts';
export type { SoldOver } from './x402-resources.ts';

/** Sells single requests for x402 payments. */
export interface X402Gate {
  /**
   * Returns the terms for a request without payment; `reason` says why a payment was refused. Throws AppError
   * `payment_unavailable` when no network can be offered.
   */
  challenge(request: SoldOver & { price: Nano; reason?: string }): Challenge;
  /**
   * Serves a request once for each proof. Throws AppError: `invalid_payment` (the proof cannot be read),
   * `payment_conflict` (it paid another request), `payment_in_progress` (it is being worked on),
   * `payment_pending` (its settlement may or may not have happened), `payment_unavailable` (nothing was taken),
   * and whatever `produce` throws.
   */
  pay(request: PayRequest): Promise<PayOutcome>;
  /** Asks the chains about the payments that are due for a look, and ends them where that is safe. */
  reconcile(options: ReconcileOptions): Promise<ReconcileReport>;
  /** Does the same for one payment. Null: there is none, or another process works on it. */
  reconcileOne(named: NamedPayment): Promise<Payment | null>;
  status(): NetworkStatus[];
  /** Returns what the facilitator in this process settles, as JSON text; null when there is none. */
  supported(): string | null;
  /** Returns what is sold and how, for crawlers, as JSON text; null when nothing is on sale. */
  manifest(): string | null;
  /** Returns the DID document with the key of offers and receipts, as JSON text. Rejects when the store does. */
  didDocument(): Promise<string>;
  /** Loads the modules of the networks and asks the facilitators, now and every few minutes until `close`. */
  warmUp(): Promise<void>;
  /**
   * Keeps payments in order until the signal aborts: reconciles them, deletes old ones, and notes which terms are
   * offered.
   */
  begin(signal: AbortSignal): Promise<void>;
  /** Waits for pending writes. */
  close(): Promise<void>;
}

export interface X402GateOptions {
  store: Store;
  /** Each has its wallet (see assignWallets). */
  networks: readonly PayableNetwork[];
  /** Returns the `{base_url}` without a trailing slash; read when terms are made. */
  publicUrl: () => string;
  /** Everything that is sold. */
  sales: readonly SaleDescription[];
  /** The longest `PAYMENT-REQUIRED`; default 3,200. Extensions that do not fit are only in the terms over MCP. */
  headerBytes?: number;
  clock: Clock;
  log: Log;
  /** Names this process among all that share the store. */
  owner: string;
  /** How long the payments of a dead process stay leased; default 30,000 ms. */
  leaseMs?: number;
  timeouts?: Partial<FacilitatorTimeouts>;
  /**
   * The largest sum, for each network, of payments that a remote facilitator calls settled and no node could check.
   * Default 0: they stay pending until a node answers.
   */
  uncheckedLimit?: Nano;
}

const defaultLeaseMs = 30_000;

/** Throws ConfigError for a network or key that cannot be used. Loads no heavy module and sends no request yet. */
export const createX402Gate = (options: X402GateOptions): X402Gate => {
  const { store, clock, owner, publicUrl, sales } = options;
  const log = options.log.child({ part: 'x402' });
  const closing = new AbortController();
  const uncheckedLimit = options.uncheckedLimit ?? 0n;
  const now = (): number => clock.now();
  const methods = createPaymentMethods({
    ...options,
    takesUnchecked: uncheckedLimit > 0n,
    log,
    now,
    accountLeaseOf: createAccountLeases({ store, owner, clock, log }),
    onTrouble: () => health.askSoon(),
  });
  const resources = createSoldResources(sales, publicUrl);
  const documents = createPaymentDocuments({
    store,
    methods,
    sales,
    resources,
    publicUrl,
    clock,
    log,
    onSigner: () => challenges.clear(),
  });
  const { signer } = documents;
  const challenges = createChallengeRegistry(methods, {
    signOffers: createSignOffers({ signer, now, log }),
    headerBytes: options.headerBytes ?? defaultHeaderBytes,
    now,
  });
  const health = createPaymentHealth({
    methods,
    log,
    onChange: () => {
      challenges.clear();
      documents.clear();
      void documents.load();
    },
    signal: closing.signal,
  });
  const deliveries = new Set<Promise<unknown>>();
  const context: X402Context = {
    store,
    clock,
    log,
    owner,
    leaseMs: options.leaseMs ?? defaultLeaseMs,
    methods,
    resources,
    signer,
    uncheckedLimit,
    recentFeePayers: health.recentFeePayers,
    formerTerms: createFormerTermsRegistry({ store, methods, sales, clock }),
    challenge: ({ sale, transport, ...request }) =>
      challenges.challenge({ ...request, ...resources.find({ sale, transport }) }),
    noteDelivery: (payment) => {
      const writing = movePayment(context, payment, 'delivered', {})
        .catch((error: unknown) =>
          log.error({ err: error, payment: payment.identity }, 'marking a payment as delivered failed'),
        )
        .finally(() => deliveries.delete(writing));
      deliveries.add(writing);
    },
    closing: closing.signal,
  };
  return {
    challenge: context.challenge,
    pay: (request) => pay(context, request),
    reconcile: (limits) => reconcile(context, limits),
    reconcileOne: (named) => reconcileOne(context, named),
    begin: (signal) => beginUpkeep(context, { networks: options.networks, signal }),
    status: health.status,
    supported: () => supportedKinds(methods),
    manifest: documents.manifest,
    didDocument: documents.didDocument,
    warmUp: async () => {
      await Promise.all([documents.load(), health.start()]);
    },
    close: async () => {
      closing.abort();
      await Promise.all([health.stopped(), documents.stopped()]);
      await Promise.all(deliveries);
    },
  };
};
