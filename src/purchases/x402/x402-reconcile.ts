import type { Clock } from '../../kit/clock.ts';
import type { Log } from '../../kit/log.ts';
import type { PaymentMethod } from '../../payments/core/challenge.ts';
import type { FoundOutcome } from '../../payments/core/facilitator.ts';
import { neverSettledMs } from '../../store/payment-guards.ts';
import type { AdvancePaymentInput, Payment, PaymentState, Store } from '../../store/store.ts';
import { noLease, type PaymentLeases } from './x402-lease.ts';
import { findMethod } from './x402-record.ts';
import { finalCheck, nextCheck } from './x402-schedule.ts';
import type { Settlements } from './x402-settlement.ts';

export interface ReconcileOptions {
  /** Payments at most. */
  limit: number;
}

export interface NamedPayment {
  identity: string;
  /** Where somebody has seen it on the chain; null for nothing new. The chain is believed, not this. */
  transaction: string | null;
}

export interface Reconcile {
  /** Looks at payments that are due. */
  (options: ReconcileOptions): Promise<ReconcileReport>;
  /** Looks at one, whether it is due or not. Null: there is none, or somebody works on it. */
  one(named: NamedPayment): Promise<Payment | null>;
}

export interface ReconcileReport {
  /** Payments that were due for a look and that nobody works on. */
  examined: number;
  /** Of these, how many need no further look. */
  resolved: number;
}

const withoutEnd: readonly PaymentState[] = ['reserved', 'verified', 'produced', 'broadcasting', 'unknown'];

const ended: readonly PaymentState[] = ['settled', 'delivered', 'rejected', 'failed'];

/** How far the clocks of processes may be apart. */
const clockSkewMs = 20_000;

/** Looks at so many at once: each waits for a chain, and a chain that is down must not keep the others waiting. */
const concurrency = 8;
/** Longer than a look takes: nobody else takes the same payment meanwhile. */
const claimMs = 60_000;
/** What the chain says of a settled payment no longer changes after so long, even if it could not be asked. */
const finalForSureMs = 7 * 24 * 3_600_000;

/**
 * Goes over the payments that are due: frees proofs that a dead process had reserved, lets the chains say what became
 * of settlements, and looks once more at what has ended when no fork can take it back. Sends nothing: whoever wants
 * the result comes back with the proof, and until it has run out everything waits for that.
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

  /** By compare-and-set on state and lease: somebody may have begun to work on it. */
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

  /** The time of the next look is no change of the payment. */
  const schedule = async (payment: Payment, checkAt: number | null): Promise<void> => {
    await advance(payment, { to: payment.state, set: { checkAt }, now: payment.updatedAt });
  };
  const lookLater = async (payment: Payment): Promise<false> => {
    await schedule(payment, nextCheck(payment, clock.now()));
    return false;
  };
  const lookNoMore = async (payment: Payment): Promise<true> => {
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

  /** Nothing of it was sent, and its buyer may come back for it until the proof has run out. */
  const lookAtProduced = async (payment: Payment, method: PaymentMethod | null): Promise<boolean> => {
    const found = await ask(payment, method);
    if (found.outcome === 'settled') return true;
    const isOver = clock.now() - payment.createdAt > neverSettledMs;
    if (found.outcome !== 'failed' && !isOver) return lookLater(payment);
    return (await fail(payment, 'never_settled')) !== null;
  };

  /** It may be out, so it is only looked for: a buyer who has gone, and perhaps paid anew, is not charged now. */
  const lookAtSent = async (payment: Payment, method: PaymentMethod | null): Promise<boolean> => {
    const found = await ask(payment, method);
    if (found.outcome === 'settled') return true;
    if (found.outcome === 'failed') return (await fail(payment, found.reason)) !== null;
    if (payment.state === 'unknown') return lookLater(payment);
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

  /** The last look, when no fork can change anything any more. */
  const lookAtEnd = async (
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
    // Before its time nothing is final but a change.
    if (!isLast && (isFailed || outcome === 'settled' || outcome === 'unknown')) return false;
    if (outcome === 'settled' || (isFailed && outcome !== 'unknown')) return lookNoMore(payment);
    if (clock.now() - payment.updatedAt > finalForSureMs) return lookNoMore(payment);
    if (outcome === 'unknown') return lookLater(payment);
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
        // Its process may live, and have a clock that is behind.
        if ((payment.leaseUntil ?? 0) + clockSkewMs > clock.now()) return lookLater(payment);
        return (
          (await advance(payment, {
            to: 'rejected',
            set: { reason: 'interrupted', checkAt: null, ...noLease },
          })) !== null
        );
      case 'produced':
        return lookAtProduced(payment, method);
      case 'broadcasting':
      case 'unknown':
        return lookAtSent(payment, method);
      case 'settled':
      case 'delivered':
      case 'failed':
        return lookAtEnd(payment, method, isDue);
      case 'rejected':
        return lookNoMore(payment);
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
    const claim = (states: readonly PaymentState[], most: number): Promise<Payment[]> =>
      most === 0 ? Promise.resolve([]) : store.claimPaymentChecks({ now, until, states, limit: most });
    // What has no end goes ahead of what is only looked at once more.
    const claimed = await claim(withoutEnd, limit);
    claimed.push(...(await claim(ended, limit - claimed.length)));
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
