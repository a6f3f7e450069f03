import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { Nano } from '../money.ts';
import { createChallengeBook, type Challenge } from '../payments/challenge.ts';
import type { FacilitatorTimeouts } from '../payments/facilitators/facilitator.ts';
import { createPaymentMethods, type PayableNetwork } from '../payments/payment-methods.ts';
import type { ResourceInfo } from '../payments/wire.ts';
import type { Store } from '../store/store.ts';
import { createPaymentHealth, type NetworkStatus } from './x402-health.ts';
import { createPaymentLeases } from './x402-lease.ts';
import { createPurchasing, type PayOutcome, type PayRequest } from './x402-purchase.ts';
import { createReconcile, type ReconcileReport } from './x402-reconcile.ts';
import { createSettlements } from './x402-settlement.ts';

export type { Challenge } from '../payments/challenge.ts';
export type { Proofs } from '../payments/parse-proof.ts';
export type { Receipt } from './x402-answers.ts';
export type { NetworkStatus } from './x402-health.ts';
export type { PayOutcome, PayRequest } from './x402-purchase.ts';
export type { ReconcileReport } from './x402-reconcile.ts';

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
  /** Lets the chains say what became of up to `limit` payments of unknown outcome. */
  reconcile(options: { limit: number }): Promise<ReconcileReport>;
  status(): NetworkStatus[];
  /** Loads what the networks need and asks the facilitators, now and from time to time until `close`. */
  warmUp(): Promise<void>;
  /** Waits for what is being written down. */
  close(): Promise<void>;
}

export interface X402GateOptions {
  store: Store;
  /** Each with its wallet: see assignWallets. */
  networks: readonly PayableNetwork[];
  /** The `{base_url}` without a trailing slash; read when terms are made. */
  publicUrl: () => string;
  clock: Clock;
  log: Log;
  /** Names this process among all that share the store. */
  owner: string;
  /** How long a dead process's payments stay its own; default 30,000 ms. */
  leaseMs?: number;
  timeouts?: Partial<FacilitatorTimeouts>;
  fetch?: typeof globalThis.fetch;
}

const defaultLeaseMs = 30_000;

const describeResources = (publicUrl: string): Record<PayRequest['resource'], ResourceInfo> => {
  const sold = { description: 'Influencer search', mimeType: 'application/json' };
  return {
    rest: { url: `${publicUrl}/v1/search`, ...sold },
    mcp: { url: 'mcp://tool/search_leads', ...sold },
  };
};

/** Throws ConfigError for a network or key that cannot be used. Loads nothing heavy and asks nobody yet. */
export const createX402Gate = (options: X402GateOptions): X402Gate => {
  const { store, clock, owner, publicUrl } = options;
  const log = options.log.child({ part: 'x402' });
  const closing = new AbortController();
  const methods = createPaymentMethods({ ...options, log, now: () => clock.now() });
  const book = createChallengeBook(methods);
  const leases = createPaymentLeases({
    store,
    owner,
    leaseMs: options.leaseMs ?? defaultLeaseMs,
    clock,
    log,
  });
  const settlements = createSettlements({ store, leases, clock, log });
  const health = createPaymentHealth({
    methods,
    log,
    onChange: () => book.clear(),
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
  const challenge: X402Gate['challenge'] = ({ resource, ...request }) =>
    book.challenge({ ...request, resource: describeResources(publicUrl())[resource] });

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
      resources: () => describeResources(publicUrl()),
      challenge,
      noteDelivery,
    }),
    reconcile: createReconcile({
      store,
      methods,
      leases,
      settlements,
      clock,
      log,
      signal: closing.signal,
    }),
    status: () => health.status(),
    warmUp: () => health.start(),
    close: async () => {
      closing.abort();
      await health.stopped();
      await Promise.all(deliveries);
    },
  };
};
