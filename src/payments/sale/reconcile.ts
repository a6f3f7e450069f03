import type { PaymentMethod } from '../wire/challenge.ts';
import type { FoundOutcome } from '../chains/core/facilitator.ts';
import { AppError } from '../../kit/errors.ts';
import type { Payment } from '../../store/store.ts';
import { isLeased, movePayment } from './move-payment.ts';
import type { SaleContext } from './context.ts';
import { findMethod } from './record.ts';
import { askChain, isBarred, settle } from './settlement.ts';
import { neverSettledMs, openStates, type PaymentState } from '../../rules/payments.ts';

export interface ReconcileReport {
  /** The payments that were due and that nobody works on. */
  examined: number;
  /** How many of these need no further check. */
  resolved: number;
}

export interface NamedPayment {
  identity: string;
  /** The transaction in which somebody has seen it; null for none. Only the chain is believed. */
  transaction: string | null;
}

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
 * settlements, and checks ended ones once more when no fork can undo them. Sends nothing but the settlement of a metered
 * call: a buyer who wants another result comes back with the proof, and until that has run out everything waits for it.
 */
export const reconcile = async (
  context: SaleContext,
  { limit }: { limit: number },
): Promise<ReconcileReport> => {
  const { log, closing } = context;
  const queue = await claimDue(context, limit);
  const report: ReconcileReport = { examined: 0, resolved: 0 };
  const work = async (): Promise<void> => {
    for (let payment = queue.shift(); payment !== undefined && !closing.aborted; payment = queue.shift()) {
      report.examined += 1;
      try {
        if (await check(context, payment, true)) report.resolved += 1;
      } catch (error) {
        log.error({ err: error, payment: payment.identity }, 'reconciling a payment failed');
      }
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  return report;
};

/** Claims open payments before ended ones. */
const claimDue = async (context: SaleContext, limit: number): Promise<Payment[]> => {
  const { store, clock } = context;
  const now = clock.now();
  const claim = (states: readonly PaymentState[], max: number): Promise<Payment[]> =>
    max === 0
      ? Promise.resolve([])
      : store.claimPaymentChecks({ now, until: now + claimMs, states, limit: max });
  const open = await claim(openStates, limit);
  const ended = await claim(endedStates, limit - open.length);
  return [...open, ...ended].filter((payment) => !isLeased(context, payment));
};

/** Checks one payment, due or not. Null: there is none, or another process works on it. */
export const reconcileOne = async (
  context: SaleContext,
  { identity, transaction }: NamedPayment,
): Promise<Payment | null> => {
  const { store, clock } = context;
  const payment = await store.getPayment(identity);
  if (payment === null || isLeased(context, payment)) return null;
  const isDue = payment.checkAt !== null && payment.checkAt <= clock.now();
  await check(context, { ...payment, transaction: transaction ?? payment.transaction }, isDue);
  return store.getPayment(identity);
};

/** True: it needs no further check. */
const check = async (context: SaleContext, payment: Payment, isDue: boolean): Promise<boolean> => {
  switch (payment.state) {
    case 'reserved':
    case 'verified':
      // Its process may live, with a clock that is behind.
      if ((payment.leaseUntil ?? 0) + clockSkewMs > context.clock.now()) return checkLater(context, payment);
      return (await movePayment(context, payment, 'interrupted', {})) !== null;
    case 'produced':
      return checkProduced(context, payment);
    case 'broadcasting':
    case 'unknown':
      return checkSent(context, payment);
    case 'settled':
    case 'delivered':
      return checkServed(context, payment, isDue);
    case 'failed':
      return checkFailed(context, payment, isDue);
    case 'rejected':
      return checkNoMore(context, payment);
  }
};

/** Nothing was sent. The buyer may come back until the proof has run out, but not for a metered call. */
const checkProduced = async (context: SaleContext, payment: Payment): Promise<boolean> => {
  const found = await ask(context, payment);
  if (found.outcome === 'settled') return true;
  const isOver = context.clock.now() - payment.createdAt > neverSettledMs;
  if (found.outcome === 'failed' || isOver)
    return (await movePayment(context, payment, 'disproved', { reason: 'never_settled' })) !== null;
  const isServed = payment.settledAmount !== null && found.outcome === 'open';
  return isServed ? settleMetered(context, payment) : checkLater(context, payment);
};

/** Settles what was answered while it was made, or cost money, as its buyer may not come back. */
const settleMetered = async (context: SaleContext, payment: Payment): Promise<boolean> => {
  const isSent = payment.state !== 'produced';
  const method = findMethod(context.methods, payment.network);
  if (method === null || (await isBarred(context, payment))) return checkLater(context, payment);
  const taken = await movePayment(context, payment, isSent ? 'resumed' : 'continued', {});
  if (taken === null) return false;
  const { transaction, rawTransaction, facilitator } = taken;
  const earlier = isSent ? { transaction, rawTransaction, facilitator } : null;
  try {
    await settle(context, taken, { method, earlier });
    return true;
  } catch (error) {
    // It has no end yet, and is looked at again.
    if (error instanceof AppError) return false;
    throw error;
  }
};

/**
 * It may have been sent, so the chain is only asked: the buyer may have paid again, and is not charged now. But a metered
 * call was answered, and its settlement is sent again.
 */
const checkSent = async (context: SaleContext, payment: Payment): Promise<boolean> => {
  const found = await ask(context, payment);
  if (found.outcome === 'settled') return true;
  if (found.outcome === 'failed')
    return (await movePayment(context, payment, 'disproved', { reason: found.reason })) !== null;
  if (payment.settledAmount !== null && found.outcome === 'open') return settleMetered(context, payment);
  if (payment.state === 'unknown') return checkLater(context, payment);
  const reason = found.outcome === 'open' ? 'not_settled' : found.reason;
  await movePayment(context, payment, 'abandoned', { reason });
  return false;
};

/** Before the last check, which comes when no fork can change anything, only a settlement is news. */
const checkFailed = async (context: SaleContext, payment: Payment, isLast: boolean): Promise<boolean> => {
  const { outcome } = await ask(context, payment);
  if (!isLast) return false;
  return outcome === 'unknown' ? checkAgain(context, payment) : checkNoMore(context, payment);
};

/** Before the last check, only a loss is news. */
const checkServed = async (context: SaleContext, payment: Payment, isLast: boolean): Promise<boolean> => {
  const found = await ask(context, payment);
  if (found.outcome === 'settled') return isLast && checkNoMore(context, payment);
  if (found.outcome === 'unknown') return isLast && checkAgain(context, payment);
  if (isFinalForSure(context, payment)) return checkNoMore(context, payment);
  context.log.error(
    { payment: payment.identity, transaction: payment.transaction },
    'the transaction of a served payment is gone from its chain',
  );
  await movePayment(context, payment, 'vanished', {});
  return false;
};

const isFinalForSure = ({ clock }: SaleContext, { updatedAt }: Payment): boolean =>
  clock.now() - updatedAt > finalForSureMs;

const checkLater = async (context: SaleContext, payment: Payment): Promise<false> => {
  await movePayment(context, payment, 'postponed', {});
  return false;
};

const checkNoMore = async (context: SaleContext, payment: Payment): Promise<true> => {
  await movePayment(context, payment, 'closed', {});
  return true;
};

/** Checks an ended payment later, as long as its chain may still say something. */
const checkAgain = (context: SaleContext, payment: Payment): Promise<boolean> =>
  isFinalForSure(context, payment) ? checkNoMore(context, payment) : checkLater(context, payment);

const ask = async (context: SaleContext, payment: Payment): Promise<FoundOutcome> => {
  const method: PaymentMethod | null = findMethod(context.methods, payment.network);
  return method === null
    ? { outcome: 'unknown', reason: 'network_not_configured' }
    : askChain(context, payment, { method, signal: context.closing });
};
