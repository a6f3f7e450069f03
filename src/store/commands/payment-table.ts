import { columns, flag, int64, integer, named, omit, orNull, text, time, type RowOf } from '../columns.ts';
import type { PaymentState } from '../../rules/payments.ts';

/** The fields that a new payment has, and that stay as they are. */
const proofFields = {
  /** Unique: EVM chain, token, payer and nonce; Solana cluster and message hash. */
  identity: text(),
  /** Binds the proof to one request. */
  requestHash: text(),
  network: text(),
  asset: text(),
  payTo: text(),
  /** In the asset's smallest unit: what the buyer signed, which is the most that an `upto` payment may take. */
  amount: int64(),
  /** JSON text of the payload, in x402 v2 form. */
  payload: text(),
  /** JSON text of the terms that the payload answers, in x402 v2 form. */
  requirements: text(),
  /** The buyer's own identifier of the payment. Two payments that were not refused cannot have the same one. */
  paymentId: orNull(text()),
};

/** The fields that a new payment has, and that may change with the state. */
const firstFields = {
  /** The process that works on it. After `leaseUntil` the payment is due for a check. */
  leaseOwner: orNull(text()),
  leaseUntil: orNull(time()),
  /** The account whose balance it raises, or whose wallet sent a key with it; null for none, and as long as it is not known. */
  accountId: orNull(text()),
  /** By how much; null: it buys an answer and raises no balance. */
  credit: orNull(int64()),
};

const newFields = { ...proofFields, ...firstFields };
export type NewFields = RowOf<typeof newFields>;
export const newPayments = columns(newFields);

const settableFields = {
  ...firstFields,
  payer: orNull(text()),
  /** The account that pays: a wallet in lower case on EVM, a token account on Solana. */
  source: orNull(text()),
  /** The network of the caller, as long as that counts for what is at risk; null for a payment that comes before the work. */
  client: orNull(text()),
  /** JSON text of the answer that the payment buys. */
  result: orNull(text()),
  /** What the settlement of an `upto` payment takes; null before it is known, and where all of `amount` is taken. */
  settledAmount: orNull(int64()),
  /** Transaction hash or signature. A facilitator in this process stores it before the broadcast. */
  transaction: named('transaction_id', orNull(text())),
  rawTransaction: orNull(text()),
  /** Address of the facilitator that was asked to settle; null if it is in this process, or none was asked. */
  facilitator: orNull(text()),
  /** How many transactions of its settlement the chain reverted, at our cost. */
  reverts: integer(),
  receipt: orNull(text()),
  /** A stable reason code for rejected, failed and unknown. */
  reason: orNull(text()),
  /** Time of the next check of its outcome; null for never. */
  checkAt: orNull(time()),
  settledAt: orNull(time()),
};
export type SettableFields = RowOf<typeof settableFields>;
export const settable = columns(settableFields);

const paymentFields = {
  ...newFields,
  ...settableFields,
  state: text<PaymentState>(),
  /** True if the whole amount is refunded, or its refund is under way. Nothing is served for it any more. */
  isRefunded: named('refunded', flag()),
  /** The ledger entry that raised it, as long as the payment counts as made. */
  creditEntry: orNull(text()),
  /** The sum of all entries that come from the payment. It may stay above what is owed if the money was spent. */
  credited: int64(),
  jobId: orNull(text()),
  createdAt: time(),
  updatedAt: time(),
};
export type Payment = RowOf<typeof paymentFields>;
export const payments = columns(paymentFields);

/** Lists leave out what is long, so that a page of them stays small. */
const listedFields = omit(paymentFields, 'payload', 'result', 'rawTransaction');
export type ListedPayment = RowOf<typeof listedFields>;
export const listedPayments = columns(listedFields);

/** `amountOf` in SQL. */
export const amountColumn = 'coalesce(settled_amount, amount)';
