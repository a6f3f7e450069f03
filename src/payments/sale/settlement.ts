import { AppError } from '../../kit/errors.ts';
import type { PaymentMethod } from '../wire/challenge.ts';
import type {
  FoundOutcome,
  OutgoingTransaction,
  PaymentOrder,
  SettleOutcome,
} from '../chains/core/facilitator.ts';
import type { SettleResponse } from '../chains/core/wire.ts';
import type { Payment } from '../../store/store.ts';
import { movePayment, whileLeased } from './move-payment.ts';
import { refusals, toReceipt, toSettleResponse, type Receipt } from './answers.ts';
import type { SaleContext } from './context.ts';
import { toBegunPayment, toPayload } from './record.ts';
import { addReceipt } from '../wire/signed-documents.ts';

export type Settled =
  | { outcome: 'settled'; payment: Payment; receipt: Receipt; transaction: string }
  /** It is proven that the buyer was not charged. */
  | { outcome: 'failed'; reason: string; receipt: Receipt };

/** Another process took the payment over: this one must do nothing more about it. */
class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
}

/**
 * Settles a payment whose result is stored and whose lease this process has. `earlier` is what an earlier try may have
 * sent. `signed` absent: it is read from the payment. Throws AppError when there is no end yet.
 */
export const settle = async (
  context: SaleContext,
  payment: Payment,
  {
    method,
    earlier,
    signed,
  }: { method: PaymentMethod; earlier: OutgoingTransaction | null; signed?: PaymentOrder | undefined },
): Promise<Settled> => {
  const { log, resources } = context;
  const { identity } = payment;
  let isSent = earlier !== null;
  const beforeBroadcast = async (outgoing: OutgoingTransaction): Promise<void> => {
    if ((await noteSent(context, payment, outgoing)) === null) throw new LeaseLost();
    isSent = true;
  };
  const order = toBegunPayment(payment, { resources, signed });
  const ended = await whileLeased(context, payment, () =>
    method.facilitator.settle(order, { earlier, beforeBroadcast }),
  ).catch((error: unknown) => {
    if (error instanceof LeaseLost) throw refusals.inProgress();
    if (!isSent) throw error;
    // Nothing was sent this time, but an earlier try may have moved the money.
    log.error({ err: error, payment: identity }, 'a settlement could not be repeated');
    throw refusals.pending(payment);
  });
  if (ended.outcome === 'unavailable' && !isSent) {
    await pause(context, payment);
    throw refusals.unavailable();
  }
  try {
    return await storeEnd(context, payment, ended);
  } catch (error) {
    if (error instanceof AppError || !isSent) throw error;
    // The store failed when money may have moved: the buyer must not be told to pay again.
    log.error({ err: error, payment: identity }, 'the end of a settlement could not be stored');
    throw refusals.pending({ ...payment, transaction: transactionIn(ended) ?? payment.transaction });
  }
};

/** Stores a transaction before it is sent. A facilitator elsewhere makes its own, so the stored one is kept. */
const noteSent = (
  context: SaleContext,
  payment: Payment,
  { transaction, rawTransaction, facilitator }: OutgoingTransaction,
): Promise<Payment | null> =>
  movePayment(context, payment, 'sent', {
    transaction: transaction ?? undefined,
    rawTransaction: transaction === null ? undefined : rawTransaction,
    facilitator,
  });

const transactionIn = (ended: SettleOutcome): string | null =>
  ended.outcome === 'unavailable' ? null : ended.transaction;

const storeEnd = (context: SaleContext, payment: Payment, ended: SettleOutcome): Promise<Settled> => {
  switch (ended.outcome) {
    case 'settled':
      return storeSettled(context, payment, ended);
    case 'failed':
      return storeFailed(context, payment, ended);
    case 'unknown':
      return storeUnknown(context, payment, ended);
    case 'unavailable':
      return storeUnknown(context, payment, { ...ended, transaction: null });
  }
};

/** A fact of the chain counts without the lease. The buyer gets it even if it cannot be stored. */
const storeSettled = async (
  context: SaleContext,
  payment: Payment,
  { transaction }: { transaction: string },
): Promise<Settled> => {
  const { store, clock, log } = context;
  const { identity } = payment;
  const response = addReceipt(context, toSettleResponse(payment, { transaction }), {
    identity,
    resourceUrl: toPayload(payment).resource.url,
  });
  const settledAt = clock.now();
  try {
    const settled = await movePayment(context, payment, 'settled', {
      transaction,
      receipt: JSON.stringify(response),
      settledAt,
    });
    if (settled === null) {
      // Another process found it settled at the same moment: the stored receipt is answered.
      const known = await store.getPayment(identity);
      if (known !== null && known.receipt !== null && known.transaction === transaction) return replay(known);
      log.error(
        { payment: identity, transaction },
        'a settled payment was in a state that cannot become settled',
      );
    }
  } catch (error) {
    log.error({ err: error, payment: identity }, 'a settled payment could not be stored');
  }
  return {
    outcome: 'settled',
    payment: { ...payment, settledAt },
    receipt: toReceipt(response),
    transaction,
  };
};

/** `transaction` null: only the stored one is known. */
interface Doubt {
  reason: string;
  transaction: string | null;
  isReverted?: boolean;
}

/** Returns the fields of an end without money. Logs a revert. `isLoss`: it cost this service something. */
const fieldsOf = (
  { log }: SaleContext,
  payment: Payment,
  { reason, transaction, isReverted, isLoss = isReverted }: Doubt & { isLoss?: boolean | undefined },
) => {
  if (isReverted === true)
    log.warn(
      { payment: payment.identity, payer: payment.source, network: payment.network, transaction },
      'a settlement was reverted at our cost',
    );
  return {
    reason,
    transaction: transaction ?? undefined,
    reverts: isLoss === true ? payment.reverts + 1 : undefined,
  };
};

const storeFailed = async (context: SaleContext, payment: Payment, doubt: Doubt): Promise<Settled> => {
  const { reason, transaction } = doubt;
  // Metered work, and work that cost money, was done for it.
  const isLoss = doubt.isReverted === true || payment.settledAmount !== null;
  const fields = fieldsOf(context, payment, { ...doubt, isLoss });
  if ((await movePayment(context, payment, 'failed', fields)) === null) throw refusals.inProgress();
  const response = toSettleResponse(payment, { transaction, errorReason: reason });
  return { outcome: 'failed', reason, receipt: toReceipt(response) };
};

const storeUnknown = async (context: SaleContext, payment: Payment, doubt: Doubt): Promise<never> => {
  const { reason, transaction } = doubt;
  const fields = fieldsOf(context, payment, doubt);
  const unknown = await movePayment(context, payment, 'doubted', fields);
  context.log.warn(
    { payment: payment.identity, reason, transaction },
    'the outcome of a payment is not known',
  );
  throw unknown === null ? refusals.inProgress() : refusals.pending(unknown);
};

/** Ends our lease on a payment before anything was sent. The next request goes on from the stored result. */
export const pause = async (context: SaleContext, payment: Payment): Promise<void> => {
  await movePayment(context, payment, 'paused', {});
};

/** A payer, and whoever calls from its network, is refused after so many such ends within that time. */
export const revertLimit = { limit: 3, withinMs: 3_600_000 };

export const isBarred = async (
  { store, clock }: SaleContext,
  { source, network, client }: Payment,
): Promise<boolean> =>
  source !== null &&
  (await store.countReverts({ source, network, client, since: clock.now() - revertLimit.withinMs })) >=
    revertLimit.limit;

export const refuse = async (context: SaleContext, payment: Payment, reason: string): Promise<void> => {
  await movePayment(context, payment, 'refused', { reason });
};

/** Finds out how a settlement ended that this process has taken over, and settles again where that is safe. */
export const resolve = async (
  context: SaleContext,
  payment: Payment,
  method: PaymentMethod,
): Promise<Settled> => {
  const { signal } = new AbortController();
  const found = await whileLeased(context, payment, () => find(context, payment, { method, signal }));
  switch (found.outcome) {
    case 'settled':
      return storeSettled(context, payment, found);
    case 'failed':
      return storeFailed(context, payment, { ...found, transaction: null });
    case 'unknown':
      if (!method.facilitator.canSettleBlindly(toBegunPayment(payment, context)))
        return storeUnknown(context, payment, { ...found, transaction: null });
      break;
    case 'open':
      break;
  }
  if (await isBarred(context, payment))
    return storeUnknown(context, payment, { reason: 'payer_reverts', transaction: null });
  const { transaction, rawTransaction, facilitator } = payment;
  return settle(context, payment, { method, earlier: { transaction, rawTransaction, facilitator } });
};

/** Asks the chain again about a failed payment. Null: it has not settled. */
export const appeal = async (
  context: SaleContext,
  payment: Payment,
  asking: { method: PaymentMethod; signal: AbortSignal },
): Promise<Settled | null> => {
  // Without a next check nothing can change any more, and each question is many calls to the node.
  if (payment.checkAt === null || (payment.result === null && payment.credit === null)) return null;
  const found = await find(context, payment, asking);
  return found.outcome === 'settled' ? storeSettled(context, payment, found) : null;
};

export const askChain = async (
  context: SaleContext,
  payment: Payment,
  asking: { method: PaymentMethod; signal: AbortSignal },
): Promise<FoundOutcome> => {
  const found = await find(context, payment, asking);
  const isNews = payment.state !== 'settled' && payment.state !== 'delivered';
  if (found.outcome === 'settled' && isNews) await storeSettled(context, payment, found);
  return found;
};

const find = (
  context: SaleContext,
  payment: Payment,
  { method, signal }: { method: PaymentMethod; signal: AbortSignal },
): Promise<FoundOutcome> => method.facilitator.findOutcome(toBegunPayment(payment, context), signal);

export const replay = (payment: Payment): Extract<Settled, { outcome: 'settled' }> => {
  const { transaction, receipt } = payment;
  const response: SettleResponse =
    receipt === null ? toSettleResponse(payment, { transaction }) : JSON.parse(receipt);
  return { outcome: 'settled', payment, receipt: toReceipt(response), transaction: response.transaction };
};
