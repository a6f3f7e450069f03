import { z } from 'zod';
import { AppError } from '../../kit/errors.ts';
import { moveRefund } from '../../purchases/refunds/refund-events.ts';
import { uuidField } from '../fields.ts';
import { operatorWrite } from '../operator-operation.ts';
import { openTokenTexts } from './token-texts.ts';
import { requireFound } from '../require-found.ts';
import { exampleRefund, refundSchema, toRefundView } from './refund-view.ts';

export const cancelRefund = operatorWrite({
  name: 'cancel_payment_refund',
  title: 'Cancel a refund',
  description:
    'Cancels a planned refund before anything of it is signed. A signed refund cannot be canceled, as it may land at any ' +
    'time.',
  group: 'payments',
  path: '/payment-refunds/{refund_id}/cancel',
  fields: { refund_id: uuidField.describe('The id of the refund.') },
  output: z.strictObject({ refund: refundSchema }),
  answer: 'CanceledPaymentRefund',
  example: {
    input: { refund_id: exampleRefund.refund },
    answer: { refund: { ...exampleRefund, state: 'failed', transaction: null, reason: 'canceled' } },
  },
  errors: ['refund_not_found', 'refund_conflict'],
  handle: async ({ refund_id: id }, services) => {
    const { store, clock } = services;
    const tokens = await openTokenTexts(services);
    const canceled = await moveRefund({ store, clock }, id, 'canceled', { reason: 'canceled' });
    if (canceled !== null) return { refund: toRefundView(canceled, tokens) };
    const { state } = requireFound(await store.getRefund(id), 'refund', id);
    throw new AppError('refund_conflict', `Refund ${id} is ${state} and cannot be canceled any more.`);
  },
});
