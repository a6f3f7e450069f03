import type { Clock } from '../../kit/clock.ts';
import { AppError } from '../../kit/errors.ts';
import type { Log } from '../../kit/log.ts';
import { nanoPerUsd, type Nano } from '../../kit/money.ts';
import type { FoundOutcome, OutgoingTransaction } from '../../payments/core/facilitator.ts';
import type { PaymentMethod } from '../../payments/core/challenge.ts';
import type { SettleResponse } from '../../payments/core/wire.ts';
import type { Payment, PaymentState, Store } from '../../store/store.ts';
import {
  paymentInProgress,
  paymentPending,
  paymentUnavailable,
  toReceipt,
  toSettleResponse,
  type AddReceipt,
  type Receipt,
} from './x402-answers.ts';
import { leaseOf, noLease, type PaymentLeases } from './x402-lease.ts';
import { finalCheck, nextCheck } from './x402-schedule.ts';
import { createAdvance, toBegunPayment, toPayload, type DeclaredFor } from './x402-record.ts';

export type Settled =
  | { outcome: 'settled'; payment: Payment; result: string; receipt: Receipt; transaction: string }
  /** It is proven that the buyer was not charged. */
  | { outcome: 'failed'; reason: string; receipt: Receipt };

/** Settles payments whose result is stored. This process has their lease. */
export interface Settlements {
  /** Settles; `earlier` is what an earlier try may have sent. Throws AppError when there is no end yet. */
  settle(
    payment: Payment,
    options: { method: PaymentMethod; earlier: OutgoingTransaction | null },
  ): Promise<Settled>;
  /** Finds out how a settlement ended, and settles again where that is safe. */
  resolve(payment: Payment, options: { method: PaymentMethod; signal: AbortSignal }): Promise<Settled>;
  /** Ends the lease of a payment of which nothing was sent: the next request goes on from the stored result. */
  giveBack(payment: Payment): Promise<void>;
  /** Asks the chain again about a failed payment. Null: it has not settled. */
  appeal(payment: Payment, options: { method: PaymentMethod; signal: AbortSignal }): Promise<Settled | null>;
  /** Asks the chain alone. Marks the payment as settled when that is new. */
  look(payment: Payment, options: { method: PaymentMethod; signal: AbortSignal }): Promise<FoundOutcome>;
  /** Returns the receipt of a settled payment: the stored one if it names that transaction. */
  receiptFor(payment: Payment, transaction: string): string;
  /** Returns the settled payment as it was answered before. */
  replay(payment: Payment): Settled;
}

/** Another process took the payment over: this one must do nothing more about it. */
class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
}

const begun: readonly PaymentState[] = ['produced', 'broadcasting'];

export const createSettlements = (context: {
  store: Store;
  leases: PaymentLeases;
  addReceipt: AddReceipt;
  declaredFor: DeclaredFor;
  /** The largest sum, for each network, of payments that are settled by a facilitator's word alone. */
  uncheckedLimit: Nano;
  clock: Clock;
  log: Log;
}): Settlements => {
  const { store, leases, addReceipt, declaredFor, uncheckedLimit, clock, log } = context;
  const advance = createAdvance({ store, clock });

  const resultOf = ({ result }: Payment): string => {
    if (result === null)
      throw new AppError('server_error', 'The paid result is missing. Contact the operator.');
    return result;
  };

  const replay: Settlements['replay'] = (payment) => {
    const { transaction, receipt } = payment;
    const response: SettleResponse =
      receipt === null ? toSettleResponse(payment, { transaction }) : JSON.parse(receipt);
    return {
      outcome: 'settled',
      payment,
      result: resultOf(payment),
      receipt: toReceipt(response),
      transaction: response.transaction,
    };
  };

  const receiptOf = (payment: Payment, transaction: string): SettleResponse =>
    addReceipt(toSettleResponse(payment, { transaction }), {
      identity: payment.identity,
      resourceUrl: toPayload(payment).resource.url,
    });

  /** A fact of the chain counts without the lease, and is told to the buyer even if it cannot be stored. */
  const markSettled = async (
    payment: Payment,
    { transaction }: { transaction: string },
  ): Promise<Settled> => {
    const response = receiptOf(payment, transaction);
    const now = clock.now();
    try {
      const settled = await advance(payment, {
        from: ['produced', 'broadcasting', 'unknown', 'failed'],
        to: 'settled',
        set: {
          transaction,
          receipt: JSON.stringify(response),
          reason: null,
          isUnchecked: false,
          settledAt: now,
          checkAt: finalCheck(payment, now),
          ...noLease,
        },
      });
      if (settled === null) {
        // Another process found it settled at the same moment: the stored receipt is answered.
        const known = await store.getPayment(payment.identity);
        if (known !== null && known.receipt !== null && known.transaction === transaction)
          return replay(known);
        log.error(
          { payment: payment.identity, transaction },
          'a settled payment was in a state that cannot become settled',
        );
      }
    } catch (error) {
      log.error({ err: error, payment: payment.identity }, 'a settled payment could not be stored');
    }
    return {
      outcome: 'settled',
      payment,
      result: resultOf(payment),
      receipt: toReceipt(response),
      transaction,
    };
  };

  const markFailed = async (
    payment: Payment,
    { reason, transaction }: { reason: string; transaction: string | null },
  ): Promise<Settled> => {
    const failed = await advance(payment, {
      from: begun,
      to: 'failed',
      owner: leaseOf(payment),
      set: {
        reason,
        ...(transaction === null ? {} : { transaction }),
        checkAt: finalCheck(payment, clock.now()),
        ...noLease,
      },
    });
    if (failed === null) throw paymentInProgress();
    const response = toSettleResponse(payment, { transaction, errorReason: reason });
    return { outcome: 'failed', reason, receipt: toReceipt(response) };
  };

  const markUnknown = async (
    payment: Payment,
    { reason, transaction }: { reason: string; transaction: string | null },
  ): Promise<never> => {
    const unknown = await advance(payment, {
      from: begun,
      to: 'unknown',
      owner: leaseOf(payment),
      set: {
        reason,
        ...(transaction === null ? {} : { transaction }),
        checkAt: nextCheck(payment, clock.now()),
        ...noLease,
      },
    });
    log.warn({ payment: payment.identity, reason, transaction }, 'the outcome of a payment is not known');
    throw unknown === null ? paymentInProgress() : paymentPending(unknown);
  };

  /** Accepts a settlement that no node could check, within the operator's limit. */
  const markUnchecked = async (
    payment: Payment,
    { transaction, decimals }: { transaction: string; decimals: number },
  ): Promise<Settled> => {
    const { identity } = payment;
    const now = clock.now();
    const settled = await store.settleUnchecked({
      change: {
        identity,
        from: begun,
        to: 'settled',
        owner: leaseOf(payment),
        set: {
          transaction,
          receipt: JSON.stringify(receiptOf(payment, transaction)),
          reason: null,
          isUnchecked: true,
          settledAt: now,
          checkAt: nextCheck(payment, now),
          ...noLease,
        },
        now,
      },
      transaction,
      limit: (uncheckedLimit * 10n ** BigInt(decimals)) / nanoPerUsd,
    });
    if (settled === null) return markUnknown(payment, { reason: 'settlement_unchecked', transaction });
    log.warn({ payment: identity, transaction }, 'a payment was delivered that no node could check');
    return replay(settled);
  };

  const giveBack: Settlements['giveBack'] = async (payment) => {
    await advance(payment, {
      from: ['produced'],
      to: 'produced',
      owner: leaseOf(payment),
      set: { leaseUntil: clock.now(), checkAt: nextCheck(payment, clock.now()) },
    });
  };

  const settle: Settlements['settle'] = async (payment, { method, earlier }) => {
    let isSent = earlier !== null;
    const beforeBroadcast = async ({
      transaction,
      rawTransaction,
      facilitator,
    }: OutgoingTransaction): Promise<void> => {
      const moved = await advance(payment, {
        from: begun,
        to: 'broadcasting',
        owner: leaseOf(payment),
        set: {
          ...(transaction === null ? {} : { transaction, rawTransaction }),
          facilitator,
          ...leases.extend(),
        },
      });
      if (moved === null) throw new LeaseLost();
      isSent = true;
    };
    const order = toBegunPayment(payment, declaredFor);
    const ended = await leases
      .keep({ payment, states: begun }, () => method.facilitator.settle(order, { earlier, beforeBroadcast }))
      .catch((error: unknown) => {
        if (error instanceof LeaseLost) throw paymentInProgress();
        if (!isSent) throw error;
        // Nothing was sent this time, but an earlier try may have moved the money.
        log.error({ err: error, payment: payment.identity }, 'a settlement could not be repeated');
        throw paymentPending(payment);
      });
    try {
      if (ended.outcome === 'settled')
        return await (ended.isUnchecked === true
          ? markUnchecked(payment, { ...ended, decimals: method.network.asset.decimals })
          : markSettled(payment, ended));
      if (ended.outcome === 'failed') return await markFailed(payment, ended);
      if (ended.outcome === 'unknown') return await markUnknown(payment, ended);
      if (isSent) return await markUnknown(payment, { ...ended, transaction: null });
      await giveBack(payment);
      throw paymentUnavailable();
    } catch (error) {
      if (error instanceof AppError || !isSent) throw error;
      // The store failed when money may have moved: the buyer must not be told to pay again.
      log.error({ err: error, payment: payment.identity }, 'the end of a settlement could not be stored');
      const transaction = ended.outcome === 'unavailable' ? null : ended.transaction;
      throw paymentPending({ ...payment, transaction: transaction ?? payment.transaction });
    }
  };

  const find = (payment: Payment, { method, signal }: { method: PaymentMethod; signal: AbortSignal }) =>
    method.facilitator.findOutcome(toBegunPayment(payment, declaredFor), signal);

  const canSettleBlindly = (payment: Payment, { facilitator }: PaymentMethod): boolean =>
    facilitator.canSettleBlindly(toBegunPayment(payment, declaredFor));

  return {
    settle,
    giveBack,
    resolve: async (payment, { method, signal }) => {
      const found = await leases.keep({ payment, states: begun }, () => find(payment, { method, signal }));
      if (found.outcome === 'settled') return markSettled(payment, found);
      if (found.outcome === 'failed') return markFailed(payment, { ...found, transaction: null });
      if (found.outcome === 'unknown' && !canSettleBlindly(payment, method))
        return markUnknown(payment, { ...found, transaction: null });
      const { transaction, rawTransaction, facilitator } = payment;
      return settle(payment, { method, earlier: { transaction, rawTransaction, facilitator } });
    },
    appeal: async (payment, options) => {
      if (payment.result === null) return null;
      const found = await find(payment, options);
      return found.outcome === 'settled' ? markSettled(payment, found) : null;
    },
    look: async (payment, options) => {
      const found = await find(payment, options);
      const isNews = payment.state !== 'settled' && payment.state !== 'delivered';
      if (found.outcome === 'settled' && isNews) await markSettled(payment, found);
      return found;
    },
    receiptFor: (payment, transaction) => {
      const { receipt } = payment;
      return receipt !== null && JSON.parse(receipt).transaction === transaction
        ? receipt
        : JSON.stringify(receiptOf(payment, transaction));
    },
    replay,
  };
};
