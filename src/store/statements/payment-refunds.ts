import type { CommandInput } from '../commands.ts';
import { refundColumns, toRefund, type RefundRow } from '../rows.ts';
import type { HistoryPosition, NewPaymentRefund, Payment, PaymentRefund } from '../store.ts';
import { eachOf, firstOf, onlyOf, type Statement } from './statement.ts';

/** Sums the refunds of a payment that did not fail. */
export const sumRefundsOf: Statement<string, { amount: bigint }, bigint> = {
  name: 'sum_refunds_of_payment',
  text: () => `select cast(coalesce(sum(amount), 0) as bigint) as amount from payment_refunds
    where payment = $1 and state <> 'failed'`,
  values: (payment) => [payment],
  read: onlyOf(({ amount }) => amount),
};

/** Locks the payment until the end of the transaction, so that two refunds see each other. */
export const lockPayment: Statement<string, { identity: string }, string | null> = {
  name: 'lock_payment',
  text: ({ lockRows }) => `select identity from payments where identity = $1 ${lockRows}`,
  values: (identity) => [identity],
  read: firstOf(({ identity }: { identity: string }) => identity),
};

export const insertRefund: Statement<
  { plan: NewPaymentRefund; payment: Payment; recipient: string; amount: bigint },
  RefundRow,
  PaymentRefund
> = {
  name: 'insert_refund',
  text: () => `insert into payment_refunds (id, payment, network, asset, recipient, amount, state, note, accepts_unknown,
      created_at, updated_at)
    values ($1, $2, $3, $4, $5, $6, 'planned', $7, $8, $9, $9) returning ${refundColumns}`,
  values: ({ plan, payment, recipient, amount }) => [
    plan.id,
    payment.identity,
    payment.network,
    payment.asset,
    recipient,
    amount,
    plan.note,
    plan.acceptsUnknown ? 1 : 0,
    plan.now,
  ],
  read: onlyOf(toRefund),
};

export const markRefunded: Statement<{ identity: string; isRefunded: boolean }, unknown, void> = {
  name: 'mark_payment_refunded',
  text: () => 'update payments set refunded = $2 where identity = $1',
  values: ({ identity, isRefunded }) => [identity, isRefunded ? 1 : 0],
  read: () => undefined,
};

/** A payment may prove not to have happened after its refund was planned. A refund that was sent once may be sent again. */
const isStillOwed = `exists (select 1 from payments where payments.identity = payment_refunds.payment
      and (payments.state in ('settled', 'delivered')
        or (payments.state = 'unknown' and payment_refunds.accepts_unknown = 1)))`;

export const advanceRefund: Statement<CommandInput<'advanceRefund'>, RefundRow, PaymentRefund | null> = {
  name: 'advance_refund',
  text: ({ isOneOf }) => `update payment_refunds set state = $3, updated_at = $4,
      sender = coalesce($5, sender), transaction_id = coalesce($6, transaction_id),
      raw_transaction = coalesce($7, raw_transaction), reason = coalesce($8, reason)
    where id = $1 and ${isOneOf('state', '$2')} and ($9 = 0 or ${isStillOwed}) returning ${refundColumns}`,
  values: ({ id, from, to, set = {}, now }) => [
    id,
    JSON.stringify(from),
    to,
    now,
    set.sender ?? null,
    set.transaction ?? null,
    set.rawTransaction ?? null,
    set.reason ?? null,
    to === 'sending' ? 1 : 0,
  ],
  read: firstOf(toRefund),
};

export const getRefund: Statement<string, RefundRow, PaymentRefund | null> = {
  name: 'get_refund',
  text: () => `select ${refundColumns} from payment_refunds where id = $1`,
  values: (id) => [id],
  read: firstOf(toRefund),
};

export const findOpenRefundOf: Statement<string, RefundRow, PaymentRefund | null> = {
  name: 'find_open_refund_of_payment',
  text: () => `select ${refundColumns} from payment_refunds
    where payment = $1 and state in ('planned', 'sending') order by created_at, id limit 1`,
  values: (payment) => [payment],
  read: firstOf(toRefund),
};

export const listRefundsOf: Statement<{ payment: string; limit: number }, RefundRow, PaymentRefund[]> = {
  name: 'list_refunds_of_payment',
  text: () =>
    `select ${refundColumns} from payment_refunds where payment = $1 order by created_at, id limit $2`,
  values: ({ payment, limit }) => [payment, limit],
  read: eachOf(toRefund),
};

export const listOpenRefunds: Statement<{ limit: number }, RefundRow, PaymentRefund[]> = {
  name: 'list_open_refunds',
  text: () => `select ${refundColumns} from payment_refunds where state in ('planned', 'sending')
    order by created_at, id limit $1`,
  values: ({ limit }) => [limit],
  read: eachOf(toRefund),
};

/** Above every possible position. */
const top: HistoryPosition = { createdAt: Number.MAX_SAFE_INTEGER, id: '' };

export const listNewestRefunds: Statement<CommandInput<'listNewestRefunds'>, RefundRow, PaymentRefund[]> = {
  name: 'list_newest_refunds',
  text: () => `select ${refundColumns} from payment_refunds where (created_at, id) < ($1, $2)
    order by created_at desc, id desc limit $3`,
  values: ({ before, limit }) => {
    const { createdAt, id } = before ?? top;
    return [createdAt, id, limit];
  },
  read: eachOf(toRefund),
};
