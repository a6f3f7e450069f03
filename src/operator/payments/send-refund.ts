import { runRefund } from '../../purchases/refunds/run-refund.ts';
import { lineField } from '../fields.ts';
import { operatorWrite } from '../operator-operation.ts';
import { refundEndSchema, toRefundEnd } from './refund-end.ts';
import { exampleRefund } from './refund-view.ts';
import { openRefundContext, refundErrors, toWanted, wantedFields } from './wanted-refund.ts';

export const sendRefund = operatorWrite({
  name: 'refund_payment',
  title: 'Refund a payment',
  description:
    'Sends tokens from the refund wallet to the payer of a settled payment, and records it. Each refund is one transfer: ' +
    'called again with the same `refund_id`, it looks for that transfer, and sends the same transaction again if needed. ' +
    'The refunds of a payment never exceed its amount. It answers when the chain has the transfer, or after two minutes.',
  group: 'payments',
  path: '/payments/{payment}/refunds',
  fields: {
    ...wantedFields,
    note: lineField(500).optional().describe('The reason, for the books; the payer never sees it.'),
  },
  output: refundEndSchema,
  answer: 'PaymentRefundEnd',
  example: {
    input: { payment: '0x5f3c9a1e', refund_id: exampleRefund.refund, amount: '0.10' },
    answer: { outcome: 'settled', refund: exampleRefund },
  },
  errors: refundErrors,
  handle: async ({ note = null, ...wanted }, services) => {
    const context = await openRefundContext(services);
    return toRefundEnd(await runRefund({ ...toWanted(wanted), note }, context), context.tokens);
  },
});
