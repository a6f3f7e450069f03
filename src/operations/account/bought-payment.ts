import { z } from 'zod';
import { isoOrNull, toIso } from '../../kit/clock.ts';
import type { JsonObject } from '../../kit/json.ts';
import { formatUsd } from '../../kit/money.ts';
import type { Payment } from '../../store/store.ts';
import { time, usd } from '../answer-fields.ts';
import type { Services } from '../call.ts';
import { amountOf } from '../../rules/payments.ts';

export const paidStatuses = ['paid', 'pending', 'refunded', 'not_paid'] as const;

/** The members of a payment, as its buyer sees it. */
export const boughtPaymentFields = {
  id: z.string().describe('Of its receipt. The chain accepts it only once.'),
  description: z.string().describe('What was sold.'),
  status: z.enum(paidStatuses),
  network: z.string().describe('CAIP-2.'),
  asset: z.string(),
  amount: z.string().nullable().describe('In whole tokens.'),
  amount_units: z.string().describe('In the smallest units of the token.'),
  payer: z.string().nullable(),
  pay_to: z.string(),
  transaction: z.string().nullable(),
  credit_usd: usd.nullable().describe('By how much it raised the balance. Null: it bought an answer alone.'),
  job_id: z.string().nullable().describe('The job that it paid for.'),
  created_at: time,
  settled_at: time.nullable(),
};

/** The states of a payment, as its buyer sees them. A payment that was refunded in part is `paid`. */
export const paidStatus = ({ state, isRefunded }: Payment): (typeof paidStatuses)[number] => {
  if (isRefunded) return 'refunded';
  if (state === 'settled' || state === 'delivered') return 'paid';
  return state === 'failed' || state === 'rejected' ? 'not_paid' : 'pending';
};

/** Names what a payment bought, as its terms did. */
export const descriptionOf = ({ payload }: Payment): string =>
  (JSON.parse(payload) as { resource?: { description?: string } }).resource?.description ?? '';

/** Makes the public form of a payment, without its proof. */
export const toBoughtPayment = (payment: Payment, { x402 }: Pick<Services, 'x402'>): JsonObject => ({
  id: payment.identity,
  description: descriptionOf(payment),
  status: paidStatus(payment),
  network: payment.network,
  asset: payment.asset,
  amount: x402.tokenAmount(payment),
  amount_units: amountOf(payment).toString(),
  payer: payment.payer,
  pay_to: payment.payTo,
  transaction: payment.transaction,
  credit_usd: payment.credit === null ? null : formatUsd(payment.credit),
  job_id: payment.jobId,
  created_at: toIso(payment.createdAt),
  settled_at: isoOrNull(payment.settledAt),
});
