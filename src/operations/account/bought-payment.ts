import { z } from 'zod';
import { formatUsd } from '../../kit/money.ts';
import type { Payment } from '../../store/store.ts';
import { timeOf, timeOrNullOf, usd } from '../answer-fields.ts';
import type { Services } from '../call.ts';
import { imageJobId } from '../images/image-examples.ts';
import { defineView } from '../view.ts';
import { amountOf } from '../../rules/payments.ts';

export const paidStatuses = ['paid', 'pending', 'refunded', 'not_paid'] as const;

/** The states of a payment, as its buyer sees them. A payment that was refunded in part is `paid`. */
export const paidStatus = ({ state, isRefunded }: Payment): (typeof paidStatuses)[number] => {
  if (isRefunded) return 'refunded';
  if (state === 'settled' || state === 'delivered') return 'paid';
  return state === 'failed' || state === 'rejected' ? 'not_paid' : 'pending';
};

/** Names what a payment bought, as its terms did. */
export const descriptionOf = ({ payload }: Payment): string =>
  (JSON.parse(payload) as { resource?: { description?: string } }).resource?.description ?? '';

/** A payment as its buyer sees it, without its proof. */
export const boughtPaymentView = defineView<Payment, Pick<Services, 'x402'>>({
  id: 'Of its receipt. The chain accepts it only once.',
  description: 'What was sold.',
  network: 'CAIP-2.',
  amount: 'In whole tokens.',
  amount_units: 'In the smallest units of the token.',
  credit_usd: 'By how much it raised the balance. Null: it bought an answer alone.',
  job_id: 'The job that it paid for.',
})({
  id: [
    z.string(),
    'identity',
    'eip155:8453:0x833589fcd6edb6e08f4c7c32d4f71b54bda02913:0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc:0x5f3c9a1e',
  ],
  description: [z.string(), (payment) => descriptionOf(payment), 'Image generation'],
  status: [z.enum(paidStatuses), (payment) => paidStatus(payment), 'paid'],
  network: [z.string(), 'network', 'eip155:8453'],
  asset: [z.string(), 'asset', '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'],
  amount: [
    z.string().nullable(),
    (payment, { x402 }) => x402.tokenAmount({ ...payment, amount: amountOf(payment) }),
    '0.04',
  ],
  amount_units: [z.string(), (payment) => amountOf(payment).toString(), '40000'],
  payer: [z.string().nullable(), 'payer', '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'],
  pay_to: [z.string(), 'payTo', '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'],
  transaction: [z.string().nullable(), 'transaction', '0x0d2e77'],
  credit_usd: [usd.nullable(), ({ credit }) => (credit === null ? null : formatUsd(credit)), '0.04'],
  job_id: [z.string().nullable(), 'jobId', imageJobId],
  created_at: timeOf('createdAt', '2026-11-20T09:29:59.000Z'),
  settled_at: timeOrNullOf('settledAt', '2026-11-20T09:30:00.000Z'),
});
