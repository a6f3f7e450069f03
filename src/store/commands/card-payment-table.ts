import { columns, flag, int64, integer, named, orNull, text, time, type RowOf } from '../columns.ts';
import type { CardPaymentKind, CardPaymentState } from '../../rules/payments.ts';

export const cardPaymentFields = {
  id: text(),
  accountId: text(),
  kind: text<CardPaymentKind>(),
  state: text<CardPaymentState>(),
  /** What the person is asked to pay. */
  amount: int64(),
  /** False: test money, which is sandbox credit. */
  isLive: named('live', flag()),
  /** What is left of a paid amount after refunds and disputes, and shall have raised the balance; else zero. */
  kept: int64(),
  /** The sum of its entries. It is more than `kept` while the account owes the rest, which it had spent. */
  credited: int64(),
  /** Stripe's names; null until Stripe has told of them. */
  session: orNull(text()),
  paymentIntent: orNull(text()),
  /** Stripe's names of the account's customer and card; null where none is needed, and before a first card is saved. */
  customer: orNull(text()),
  paymentMethod: orNull(text()),
  /** Counts the changes by what Stripe told. */
  version: integer(),
  createdAt: time(),
  updatedAt: time(),
};
export type CardPayment = RowOf<typeof cardPaymentFields>;
export const cardPayments = columns(cardPaymentFields);
