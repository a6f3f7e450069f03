import { z } from 'zod';
import { isoOrNull, toIso } from '../../kit/clock.ts';
import { formatUsd } from '../../kit/money.ts';
import { time } from '../../operations/answer-fields.ts';
import type { TokenTexts } from '../../purchases/token-amount.ts';
import { amountOf } from '../../store/commands/payment-table.ts';
import { paymentStates } from '../../store/payment-states.ts';
import type { Payment } from '../../store/store.ts';
import { idField } from '../../operations/id-field.ts';

export const paymentField = idField.describe(
  'A payment: its identity, its transaction, or the beginning of either.',
);

const tokenAmount = z
  .string()
  .nullable()
  .describe('In whole tokens, such as "0.10"; null: an unknown token.');
const units = z.string().describe('In the smallest units of the token.');

/** The members that payments and refunds have in common. */
export const transferFields = {
  network: z.string().describe('CAIP-2.'),
  asset: z.string(),
  amount: tokenAmount,
  amount_units: units,
};

export const paymentSchema = z.strictObject({
  payment: z.string().describe('Its identity: what the chain accepts only once.'),
  state: z.enum(paymentStates),
  ...transferFields,
  payer: z.string().nullable(),
  pay_to: z.string(),
  transaction: z.string().nullable(),
  reason: z.string().nullable(),
  facilitator: z.string().nullable(),
  payment_id: z.string().nullable(),
  account_id: z.string().nullable().describe('The account whose balance it raises.'),
  credit_usd: z.string().nullable().describe('By how much; null: it buys an answer alone.'),
  credited_usd: z
    .string()
    .nullable()
    .describe('How much of that is on the account, or spent: less what is refunded or was taken back.'),
  created_at: time,
  updated_at: time,
  settled_at: time.nullable(),
});

export type PaymentView = z.output<typeof paymentSchema>;

/** Leaves out the proof, which others could send, and the sold answer. */
export const toPaymentView = (payment: Payment, tokens: TokenTexts): PaymentView => ({
  payment: payment.identity,
  state: payment.state,
  network: payment.network,
  asset: payment.asset,
  amount: tokens.tokenAmount({ ...payment, amount: amountOf(payment) }),
  amount_units: amountOf(payment).toString(),
  payer: payment.payer,
  pay_to: payment.payTo,
  transaction: payment.transaction,
  reason: payment.reason,
  facilitator: payment.facilitator,
  payment_id: payment.paymentId,
  account_id: payment.accountId,
  credit_usd: payment.credit === null ? null : formatUsd(payment.credit),
  credited_usd: payment.credit === null ? null : formatUsd(payment.credited),
  created_at: toIso(payment.createdAt),
  updated_at: toIso(payment.updatedAt),
  settled_at: isoOrNull(payment.settledAt),
});

/** For examples. */
export const examplePayment: PaymentView = {
  payment:
    'eip155:84532:0x036cbd53842c5426634e7929541ec2318f3dcf7e:0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc:0x5f3c9a1e',
  state: 'delivered',
  network: 'eip155:84532',
  asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
  amount: '0.10',
  amount_units: '100000',
  payer: '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
  pay_to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  transaction: '0x0d2e77',
  reason: null,
  facilitator: 'local',
  payment_id: null,
  account_id: null,
  credit_usd: null,
  credited_usd: null,
  created_at: '2026-11-01T08:00:00.000Z',
  updated_at: '2026-11-01T08:00:02.000Z',
  settled_at: '2026-11-01T08:00:02.000Z',
};
