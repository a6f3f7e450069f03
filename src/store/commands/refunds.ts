import { columns, flag, int64, named, orNull, text, time, type RowOf } from '../columns.ts';
import { read, readBy, readSteps, run, writeTransaction, type Steps } from '../command.ts';
import { eachOf, firstOf, statement, valuesOf } from '../statement.ts';
import { top, type HistoryPosition } from './history-page.ts';
import { moveCredit, sumRefunds, type CreditMove } from './payment-credit.ts';
import { getPayment } from './payments.ts';
import { amountOf } from '../../rules/payments.ts';

/**
 * planned: recorded, nothing is signed. sending: the signed transaction is stored. It may be sent, or be on the chain
 * where a fork can still remove it. settled: final on the chain. failed: proven not to have happened.
 */
export type PaymentRefundState = 'planned' | 'sending' | 'settled' | 'failed';

const refundFields = {
  id: text(),
  payment: text(),
  network: text(),
  asset: text(),
  recipient: text(),
  /** In the asset's smallest unit. */
  amount: int64(),
  state: text<PaymentRefundState>(),
  /** The sending wallet; null before the transaction is signed. */
  sender: orNull(text()),
  transaction: named('transaction_id', orNull(text())),
  rawTransaction: orNull(text()),
  /** A stable reason code: why it failed, or why a settled one counts as final although the node names no final blocks. */
  reason: orNull(text()),
  note: orNull(text()),
  /** True if it may be sent while the outcome of its payment is unknown. */
  acceptsUnknown: flag(),
  createdAt: time(),
  updatedAt: time(),
};
export type PaymentRefund = RowOf<typeof refundFields>;
const refunds = columns(refundFields);

export const getRefund = readBy('payment_refunds', 'id', refunds);

/** Locks the payment until the end of the transaction, so that two refunds see each other. */
const lockPayment = statement({
  only: 'postgres',
  text: ({ lockRows }) => `select identity from payments where identity = $1 ${lockRows}`,
  values: (identity: string) => [identity],
});

const findOpenRefund = statement({
  text: `select ${refunds.list()} from payment_refunds
    where payment = $1 and state in ('planned', 'sending') order by created_at, id limit 1`,
  values: (payment: string) => [payment],
  read: firstOf(refunds.read),
});

const markRefunded = statement({
  text: 'update payments set refunded = $2 where identity = $1',
  values: valuesOf<{ identity: string; isRefunded: boolean }>('identity', 'isRefunded'),
});

const insertRefund = statement({
  text: `insert into payment_refunds (${refunds.list()}) values (${refunds.parameters()})`,
  values: refunds.values,
});

export interface NewPaymentRefund extends Pick<PaymentRefund, 'id' | 'payment' | 'note'> {
  amount: bigint | null;
  /** Also refunds a payment of unknown outcome; for an operator who knows that it was paid. */
  acceptsUnknown: boolean;
  now: number;
}

export type PlanRefundOutcome =
  | { outcome: 'planned'; refund: PaymentRefund }
  | { outcome: 'exists'; refund: PaymentRefund }
  /** `wrong_payer`: the payer is not the signer, who is named in the identity. */
  | { outcome: 'no_payment' | 'not_settled' | 'no_payer' | 'wrong_payer' }
  | { outcome: 'open'; refund: PaymentRefund }
  | { outcome: 'too_much'; left: bigint }
  | SpentCredit;

/** The payment raised the balance of an account, which does not have the refunded part of it any more. */
type SpentCredit = Extract<CreditMove, { outcome: 'spent' }>;

/**
 * Compares the payer, which may only be a facilitator's claim, with the signer in the identity. An EVM identity is
 * `eip155:<chain>:<token>:<signer>:<nonce>`. A Solana identity has three parts and names no signer.
 */
const isNamedPayer = (identity: string, payer: string): boolean => {
  const [, , , signer] = identity.split(':');
  return signer === undefined || signer === payer.toLowerCase();
};

/**
 * Plans a refund to the payer. A fully refunded payment is not served any more, unless that refund fails. Refuses unless
 * all of this holds: the payment is settled (or its outcome is unknown, if accepted); its payer is known and is the one
 * in its identity; it has no other open refund; the amount is not more than what is left after refunds that did not
 * fail; the account whose balance the payment raised still has that part of it. The refund takes that part from the
 * balance, and gives it back if it fails. `amount` null refunds all that is left.
 */
export const planRefund = writeTransaction(function* (
  plan: NewPaymentRefund,
  kind,
): Steps<PlanRefundOutcome> {
  yield* run(lockPayment, plan.payment);
  const existing = yield* run(getRefund, plan.id);
  if (existing !== null) return { outcome: 'exists', refund: existing };
  const payment = yield* run(getPayment, plan.payment);
  if (payment === null) return { outcome: 'no_payment' };
  const isSettled = payment.state === 'settled' || payment.state === 'delivered';
  if (!isSettled && !(plan.acceptsUnknown && payment.state === 'unknown')) return { outcome: 'not_settled' };
  const { identity, payer: recipient } = payment;
  if (recipient === null) return { outcome: 'no_payer' };
  if (!isNamedPayer(identity, recipient)) return { outcome: 'wrong_payer' };
  const open = yield* run(findOpenRefund, identity);
  if (open !== null) return { outcome: 'open', refund: open };
  const earlier = yield* run(sumRefunds, identity);
  const left = amountOf(payment) - earlier;
  const amount = plan.amount ?? left;
  if (amount <= 0n || amount > left) return { outcome: 'too_much', left };
  const moved = yield* moveCredit(payment, { refunded: earlier + amount, now: plan.now }, kind);
  if (moved.outcome === 'spent') return moved;
  if (amount === left) yield* run(markRefunded, { identity, isRefunded: true });
  const refund: PaymentRefund = {
    id: plan.id,
    payment: identity,
    network: payment.network,
    asset: payment.asset,
    recipient,
    amount,
    state: 'planned',
    sender: null,
    transaction: null,
    rawTransaction: null,
    reason: null,
    note: plan.note,
    acceptsUnknown: plan.acceptsUnknown,
    createdAt: plan.now,
    updatedAt: plan.now,
  };
  yield* run(insertRefund, refund);
  return { outcome: 'planned', refund };
});

export interface AdvanceRefundInput {
  id: string;
  from: readonly PaymentRefundState[];
  to: PaymentRefundState;
  /** Only the named fields change. */
  set?: Partial<Pick<PaymentRefund, 'sender' | 'transaction' | 'rawTransaction' | 'reason'>>;
  now: number;
}

const lockRefundedPayment = statement({
  only: 'postgres',
  text: ({ lockRows }) => `select identity from payments
    where identity = (select payment from payment_refunds where id = $1) ${lockRows}`,
  values: (id: string) => [id],
});

/** A payment may prove not to have happened after its refund was planned. A refund that was sent once may be sent again. */
const isStillOwed = `exists (select 1 from payments where payments.identity = payment_refunds.payment
      and (payments.state in ('settled', 'delivered')
        or (payments.state = 'unknown' and payment_refunds.accepts_unknown = 1)))`;

const updateRefund = statement({
  text: ({ isOneOf }) => `update payment_refunds set state = $3, updated_at = $4,
      sender = coalesce($5, sender), transaction_id = coalesce($6, transaction_id),
      raw_transaction = coalesce($7, raw_transaction), reason = coalesce($8, reason)
    where id = $1 and ${isOneOf('state', '$2')} and ($9 = 0 or ${isStillOwed}) returning ${refunds.list()}`,
  values: ({ id, from, to, set = {}, now }: AdvanceRefundInput) => [
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
  read: firstOf(refunds.read),
});

/**
 * Changes a refund by compare-and-set on the state; null if that fails. To `sending` it also fails if the payment is no
 * longer settled (nor of unknown outcome, if the plan accepts that). A failed one gives back what it took from a balance.
 */
export const advanceRefund = writeTransaction(function* (
  input: AdvanceRefundInput,
  kind,
): Steps<PaymentRefund | null> {
  yield* run(lockRefundedPayment, input.id);
  const refund = yield* run(updateRefund, input);
  if (refund?.state !== 'failed') return refund;
  yield* run(markRefunded, { identity: refund.payment, isRefunded: false });
  const payment = yield* run(getPayment, refund.payment);
  if (payment !== null) yield* moveCredit(payment, { now: input.now }, kind);
  return refund;
});

const listRefundsOf = statement({
  text: `select ${refunds.list()} from payment_refunds where payment = $1 order by created_at, id limit $2`,
  values: valuesOf<{ payment: string; limit: number }>('payment', 'limit'),
  read: eachOf(refunds.read),
});

const listOpenRefunds = statement({
  text: `select ${refunds.list()} from payment_refunds where state in ('planned', 'sending')
    order by created_at, id limit $1`,
  values: (limit: number) => [limit],
  read: eachOf(refunds.read),
});

/** Lists the refunds of a payment, or all open ones, oldest first. */
export const listRefunds = readSteps(({ payment, limit }: { payment: string | null; limit: number }) =>
  payment === null ? run(listOpenRefunds, limit) : run(listRefundsOf, { payment, limit }),
);

/** Lists all refunds by `createdAt`, then id, both descending, after the position `before`. */
export const listNewestRefunds = read({
  text: `select ${refunds.list()} from payment_refunds where (created_at, id) < ($1, $2)
    order by created_at desc, id desc limit $3`,
  values: ({ before, limit }: { before: HistoryPosition | null; limit: number }) => {
    const { createdAt, id } = before ?? top;
    return [createdAt, id, limit];
  },
  read: eachOf(refunds.read),
});
