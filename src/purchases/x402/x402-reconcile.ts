import type { Clock } from '../../kit/clock.ts';
import type { Log } from '../../kit/log.ts';
import type { PaymentMethod } from '../../payments/core/challenge.ts';
import type { FoundOutcome } from '../../payments/core/facilitator.ts';
import { neverSettledMs } from '../../store/commands/payment-table.ts';
import type { AdvancePaymentInput, Payment, PaymentState, Store } from '../../store/store.ts';
import { noLease, type PaymentLeases } from './x402-lease.ts';
import { findMethod } from './x402-record.ts';
import { finalCheck, nextCheck } from './x402-schedule.ts';
import type { Settlements } from './x402-settlement.ts';

export interface ReconcileOptions {
  /** The most payments in one run. */
  limit: number;
}

export interface NamedPayment {
  identity: string;
  /** The transaction in which somebody has seen it; null for none. Only the chain is believed. */
  transaction: string | null;
}

export interface Reconcile {
  /** Checks the payments that are due. */
  (options: ReconcileOptions): Promise<ReconcileReport>;
  /** Checks one payment, due or not. Null: there is none, or another process works on it. */
  one(named: NamedPayment): Promise<Payment | null>;
}

export interface ReconcileReport {
  /** The payments that were due and that nobody works on. */
  examined: number;
  /** How many of these need no further check. */
  resolved: number;
}

const openStates: readonly PaymentState[] = ['reserved', 'verified', 'produced', 'broadcasting', 'unknown'];

const endedStates: readonly PaymentState[] = ['settled', 'delivered', 'rejected', 'failed'];

/** The largest difference between the clocks of two processes. */
const clockSkewMs = 20_000;

/** Checks at once: each waits for a chain, and a chain that is down must not delay the others. */
const concurrency = 8;
/** Longer than a check takes, so that no other process takes the same payment. */
const claimMs = 60_000;
/** After this time a settled payment is final, even if its chain could not be asked. */
const finalForSureMs = 7 * 24 * 3_600_000;

/**
 * Checks the payments that are due: frees proofs that a dead process had reserved, asks the chains about the end of
 * settlements, and checks ended ones once more when no fork can undo them. Sends nothing: a buyer who wants the result
 * comes back with the proof, and until the proof has run out everything waits for that.
 */
export const createReconcile = (context: {
  store: Store;
  methods: readonly PaymentMethod[];
  leases: PaymentLeases;
  settlements: Settlements;
  clock: Clock;
  log: Log;
  signal: AbortSignal;
}): Reconcile => {
  const { store, methods, leases, settlements, clock, log, signal } = context;

  /** Compares and sets state and lease, because another process may have begun to work on the payment. */
  const advance = (
    { identity, state, leaseOwner }: Payment,
    change: Pick<AdvancePaymentInput, 'to' | 'set'> & { now?: number },
  ): Promise<Payment | null> =>
    store.advancePayment({
      identity,
      from: [state],
      ...(leaseOwner === null ? {} : { owner: leaseOwner }),
      now: clock.now(),
      ...change,
    });

  /** Sets the next check and leaves `updatedAt` as it is. */
  const schedule = async (payment: Payment, checkAt: number | null): Promise<void> => {
    await advance(payment, { to: payment.state, set: { checkAt }, now: payment.updatedAt });
  };
  const checkLater = async (payment: Payment): Promise<false> => {
    await schedule(payment, nextCheck(payment, clock.now()));
    return false;
  };
  const checkNoMore = async (payment: Payment): Promise<true> => {
    await schedule(payment, null);
    return true;
  };
  const fail = (payment: Payment, reason: string): Promise<Payment | null> =>
    advance(payment, {
      to: 'failed',
      set: { reason, checkAt: finalCheck(payment, clock.now()), ...noLease },
    });
  const ask = async (payment: Payment, method: PaymentMethod | null): Promise<FoundOutcome> =>
    method === null
      ? { outcome: 'unknown', reason: 'network_not_configured' }
      : settlements.look(payment, { method, signal });

  /** Nothing was sent, and the buyer may come back until the proof has run out. */
  const checkProduced = async (payment: Payment, method: PaymentMethod | null): Promise<boolean> => {
    const found = await ask(payment, method);
    if (found.outcome === 'settled') return true;
    const isOver = clock.now() - payment.createdAt > neverSettledMs;
    if (found.outcome !== 'failed' && !isOver) return checkLater(payment);
    return (await fail(payment, 'never_settled')) !== null;
  };

  /** It may be sent, so it is only looked for: a buyer who has gone, and perhaps paid again, is not charged now. */
  const checkSent = async (payment: Payment, method: PaymentMethod | null): Promise<boolean> => {
    const found = await ask(payment, method);
    if (found.outcome === 'settled') return true;
    if (found.outcome === 'failed') return (await fail(payment, found.reason)) !== null;
    if (payment.state === 'unknown') return checkLater(payment);
    await advance(payment, {
      to: 'unknown',
      set: {
        reason: found.outcome === 'open' ? 'not_settled' : found.reason,
        checkAt: nextCheck(payment, clock.now()),
        ...noLease,
      },
    });
    return false;
  };

  /** Checks an ended payment. The last check comes when no fork can change anything. */
  const checkEnded = async (
    payment: Payment,
    method: PaymentMethod | null,
    isLast: boolean,
  ): Promise<boolean> => {
    const found = await ask(payment, method);
    const { outcome } = found;
    if (payment.isUnchecked && found.outcome === 'settled') {
      const { transaction } = found;
      const set = {
        transaction,
        receipt: settlements.receiptFor(payment, transaction),
        isUnchecked: false,
        checkAt: finalCheck(payment, clock.now()),
      };
      await advance(payment, { to: payment.state, set, now: payment.updatedAt });
      return false;
    }
    const isFailed = payment.state === 'failed';
    // Before the last check, only a change counts.
    if (!isLast && (isFailed || outcome === 'settled' || outcome === 'unknown')) return false;
    if (outcome === 'settled' || (isFailed && outcome !== 'unknown')) return checkNoMore(payment);
    if (clock.now() - payment.updatedAt > finalForSureMs) return checkNoMore(payment);
    if (outcome === 'unknown') return checkLater(payment);
    log.error(
      { payment: payment.identity, transaction: payment.transaction },
      'the transaction of a served payment is gone from its chain',
    );
    await advance(payment, {
      to: 'unknown',
      set: {
        reason: 'gone_from_chain',
        settledAt: null,
        checkAt: nextCheck(payment, clock.now()),
      },
    });
    return false;
  };

  const tend = async (payment: Payment, isDue: boolean): Promise<boolean> => {
    const method = findMethod(methods, payment.network);
    switch (payment.state) {
      case 'reserved':
      case 'verified':
        // Its process may live, with a clock that is behind.
        if ((payment.leaseUntil ?? 0) + clockSkewMs > clock.now()) return checkLater(payment);
        return (
          (await advance(payment, {
            to: 'rejected',
            set: { reason: 'interrupted', checkAt: null, ...noLease },
          })) !== null
        );
      case 'produced':
        return checkProduced(payment, method);
      case 'broadcasting':
      case 'unknown':
        return checkSent(payment, method);
      case 'settled':
      case 'delivered':
      case 'failed':
        return checkEnded(payment, method, isDue);
      case 'rejected':
        return checkNoMore(payment);
    }
  };

  const one: Reconcile['one'] = async ({ identity, transaction }) => {
    const payment = await store.getPayment(identity);
    if (payment === null || leases.isLive(payment)) return null;
    const isDue = payment.checkAt !== null && payment.checkAt <= clock.now();
    await tend({ ...payment, transaction: transaction ?? payment.transaction }, isDue);
    return store.getPayment(identity);
  };

  const due = async ({ limit }: ReconcileOptions): Promise<ReconcileReport> => {
    const now = clock.now();
    const until = now + claimMs;
    const claim = (states: readonly PaymentState[], max: number): Promise<Payment[]> =>
      max === 0 ? Promise.resolve([]) : store.claimPaymentChecks({ now, until, states, limit: max });
    // Open payments come before ended ones.
    const claimed = await claim(openStates, limit);
    claimed.push(...(await claim(endedStates, limit - claimed.length)));
    const queue = claimed.filter((payment) => !leases.isLive(payment));
    const report: ReconcileReport = { examined: 0, resolved: 0 };
    const work = async (): Promise<void> => {
      for (let payment = queue.shift(); payment !== undefined && !signal.aborted; payment = queue.shift()) {
        report.examined += 1;
        try {
          if (await tend(payment, true)) report.resolved += 1;
        } catch (error) {
          log.error({ err: error, payment: payment.identity }, 'reconciling a payment failed');
        }
      }
    };
    await Promise.all(Array.from({ length: concurrency }, work));
    return report;
  };

  return Object.assign(due, { one });
};
