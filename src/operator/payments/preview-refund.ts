import { z } from 'zod';
import { checkRefund } from '../../purchases/refunds/run-refund.ts';
import { operatorRead } from '../operator-operation.ts';
import { exampleRefund } from './refund-view.ts';
import { refundEndSchema, toRefundEnd } from './refund-end.ts';
import { openRefundContext, refundErrors, toWanted, wantedFields } from './wanted-refund.ts';

const previewSchema = z.strictObject({
  outcome: z.literal('not_confirmed'),
  refund: z.string(),
  payment: z.string(),
  amount_units: z.string(),
  recipient: z.string(),
  sender: z.string().nullable(),
  cost: z
    .string()
    .nullable()
    .describe('The highest fee with its coin, such as "0.00001 ETH"; null: not known.'),
  opens_account: z
    .boolean()
    .describe('Solana: the cost includes a token account for the payer, who has none.'),
});

export type RefundPreviewView = z.output<typeof previewSchema>;

export const previewRefund = operatorRead({
  name: 'preview_payment_refund',
  title: 'Preview a refund',
  description: 'Tells what a refund would send and cost, and whether it is possible. Changes nothing.',
  group: 'payments',
  path: '/payments/{payment}/refund-preview',
  fields: wantedFields,
  output: z.union([previewSchema, refundEndSchema]).describe('The end of the refund if it has ended.'),
  answer: 'PaymentRefundPreview',
  example: {
    input: { payment: '0x5f3c9a1e', refund_id: exampleRefund.refund, amount: '0.05' },
    answer: {
      outcome: 'not_confirmed',
      refund: exampleRefund.refund,
      payment: exampleRefund.payment,
      amount_units: '50000',
      recipient: exampleRefund.recipient,
      sender: exampleRefund.sender,
      cost: '0.00001 ETH',
      opens_account: false,
    },
  },
  errors: refundErrors,
  handle: async (wanted, services) => {
    const context = await openRefundContext(services);
    const checked = await checkRefund(toWanted(wanted), context);
    if (checked.outcome === 'ended') return toRefundEnd(checked.end, context.tokens);
    const { intent, preview } = checked;
    return {
      outcome: 'not_confirmed' as const,
      refund: intent.id,
      payment: intent.payment.identity,
      amount_units: intent.amount.toString(),
      recipient: intent.recipient,
      sender: preview?.sender ?? intent.existing?.sender ?? null,
      cost: preview?.cost ?? null,
      opens_account: preview?.opensAccount ?? false,
    };
  },
});
