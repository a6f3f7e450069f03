import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import type { PaymentMethod } from '../payments/challenge.ts';
import type { Store } from '../store/store.ts';
import type { PaymentLeases } from './x402-lease.ts';
import { findMethod } from './x402-record.ts';
import type { Settlements } from './x402-settlement.ts';

export interface ReconcileReport {
  /** Payments without a known end that nobody works on. */
  examined: number;
  /** Of these, how many are now known to be settled or failed. */
  resolved: number;
}

/** Goes over payments of unknown end and lets the chain say what became of them. */
export const createReconcile = (context: {
  store: Store;
  methods: readonly PaymentMethod[];
  leases: PaymentLeases;
  settlements: Settlements;
  clock: Clock;
  log: Log;
  signal: AbortSignal;
}): ((options: { limit: number }) => Promise<ReconcileReport>) => {
  let goOnBefore: number | null = null;
  return async ({ limit }) => {
    const { store, methods, leases, settlements, clock, log, signal } = context;
    const open = await store.listPayments({
      states: ['unknown', 'broadcasting'],
      updatedBefore: goOnBefore ?? clock.now() + 1,
      limit,
    });
    // Newest first: the next run goes on where this one ended, so that no payment waits behind others for ever.
    goOnBefore = open.length < limit ? null : (open.at(-1)?.updatedAt ?? null);
    const report: ReconcileReport = { examined: 0, resolved: 0 };
    for (const payment of open) {
      const method = findMethod(methods, payment.network);
      if (signal.aborted || method === null || leases.isLive(payment)) continue;
      report.examined += 1;
      try {
        if (await settlements.look(payment, { method, signal })) report.resolved += 1;
      } catch (error) {
        log.error({ err: error, payment: payment.identity }, 'reconciling a payment failed');
      }
    }
    return report;
  };
};
