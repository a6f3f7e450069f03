import type { Clock } from '../../kit/clock.ts';
import type { Log } from '../../kit/log.ts';
import type { Nano } from '../../kit/money.ts';
import { createChallengeRegistry, supportedKinds, type Challenge } from '../../payments/core/challenge.ts';
import type { SaleDescription } from '../../payments/extensions/sale-description.ts';
import { createOfferRegistry } from '../../payments/extensions/signed-offers.ts';
import type { FacilitatorTimeouts } from '../../payments/core/facilitator.ts';
import { createPaymentMethods, type PayableNetwork } from '../../payments/core/payment-methods.ts';
import type { Payment, Store } from '../../store/store.ts';
import { defaultHeaderBytes } from '../../payments/x402-settings.ts';
import { createRefundUpkeep } from '../refunds/refund-upkeep.ts';
import { createAddReceipt } from './x402-answers.ts';
import { createPaymentDocuments } from './x402-documents.ts';
import { createFormerTermsRegistry } from './x402-former-terms.ts';
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
import { createSoldResources, type SoldOver } from './x402-resources.ts';
import { createSettlements } from './x402-settlement.ts';
import { beginUpkeep } from './x402-upkeep.ts';

export type { Challenge } from '../../payments/core/challenge.ts';
export type { SaleDescription } from '../../payments/extensions/sale-description.ts';
export type { Proofs } from '../../payments/core/parse-proof.ts';
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
  const methods = createPaymentMethods({
    ...options,
    takesUnchecked: uncheckedLimit > 0n,
    log,
    now: () => clock.now(),
    accountLeaseOf: createAccountLeases({ store, owner, clock, log }),
    onTrouble: () => health.askSoon(),
  });
  const resources = createSoldResources(sales, publicUrl);
  const { declaredFor } = resources;
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
  const offerRegistry = createOfferRegistry({ signer: documents.signer, now: () => clock.now(), log });
  const challenges = createChallengeRegistry(methods, {
    offerRegistry,
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
      challenges.clear();
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
      log.error({ err: error, payment: identity }, 'marking a payment as delivered failed');
    }
  };
  const noteDelivery = (identity: string): void => {
    const writing = writeDelivery(identity).finally(() => deliveries.delete(writing));
    deliveries.add(writing);
  };
  const challenge: X402Gate['challenge'] = ({ sale, transport, ...request }) =>
    challenges.challenge({ ...request, ...resources.find({ sale, transport }) });

  const formerTerms = createFormerTermsRegistry({ store, methods, sales, clock });
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
      resourceOf: (over) => resources.find(over).resource,
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
    manifest: () => documents.manifest(),
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
