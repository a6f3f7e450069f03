import { z } from 'zod';
import { toIso } from '../../kit/clock.ts';
import { time } from '../../operations/answer-fields.ts';
import type { TokenTexts } from '../../purchases/token-amount.ts';
import type { PaymentRefund } from '../../store/store.ts';
import { examplePayment, transferFields } from './payment-view.ts';

export const refundSchema = z.strictObject({
  refund: z.string().describe('Its id.'),
  payment: z.string(),
  state: z.enum(['planned', 'sending', 'settled', 'failed']),
  ...transferFields,
  recipient: z.string(),
  sender: z.string().nullable(),
  transaction: z.string().nullable(),
  reason: z.string().nullable(),
  note: z.string().nullable(),
  created_at: time,
  updated_at: time,
});

export type RefundView = z.output<typeof refundSchema>;

/** Leaves out the signed transaction, which others could send. */
export const toRefundView = (refund: PaymentRefund, tokens: TokenTexts): RefundView => ({
  refund: refund.id,
  payment: refund.payment,
  state: refund.state,
  network: refund.network,
  asset: refund.asset,
  amount: tokens.tokenAmount(refund),
  amount_units: refund.amount.toString(),
  recipient: refund.recipient,
  sender: refund.sender,
  transaction: refund.transaction,
  reason: refund.reason,
  note: refund.note,
  created_at: toIso(refund.createdAt),
  updated_at: toIso(refund.updatedAt),
});

const { payment, network, asset, amount, amount_units, payer, pay_to, created_at, updated_at } =
  examplePayment;

/** For examples. */
export const exampleRefund: RefundView = {
  refund: '7c1d8f52-94a6-4a0e-8f3b-6f1f8a5e2b90',
  payment,
  state: 'settled',
  network,
  asset,
  amount,
  amount_units,
  recipient: payer ?? '',
  sender: pay_to,
  transaction: '0x77ab01',
  reason: null,
  note: 'Half of the profiles were gone',
  created_at,
  updated_at,
};
