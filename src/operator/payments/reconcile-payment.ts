import { z } from 'zod';
import { AppError } from '../../kit/errors.ts';
import { requirePayment } from '../../purchases/find-payments.ts';
import { refundNotPossible } from '../../purchases/refunds/refund-intent.ts';
import { paymentStates } from '../../store/payment-states.ts';
import { idField } from '../../operations/id-field.ts';
import { operatorWrite } from '../operator-operation.ts';
import { examplePayment, paymentField } from './payment-view.ts';
import { withCheckingGate } from './with-checking-gate.ts';

export const reconcilePayment = operatorWrite({
  name: 'reconcile_payment',
  title: 'Ask the chain for the outcome of a payment',
  description: 'Asks the chain now for the outcome of one payment. It sends nothing.',
  group: 'payments',
  path: '/payments/{payment}/reconcile',
  fields: {
    payment: paymentField,
    transaction: idField
      .optional()
      .describe('The transaction of the payment, if you have found it on the chain.'),
  },
  output: z.strictObject({
    payment: z.string(),
    state: z.enum(paymentStates),
    reason: z.string().nullable(),
    transaction: z.string().nullable(),
  }),
  answer: 'ReconciledPayment',
  example: {
    input: { payment: '0x5f3c9a1e' },
    answer: { payment: examplePayment.payment, state: 'settled', reason: null, transaction: '0x0d2e77' },
  },
  errors: ['payment_not_found', 'payment_ambiguous', 'payment_in_progress', 'network_not_configured'],
  handle: async ({ payment: given, transaction = null }, services) => {
    const payment = await requirePayment(services.store, given);
    return withCheckingGate(services, async (gate, networks) => {
      if (!networks.some(({ network }) => network === payment.network))
        throw refundNotPossible('not_configured', payment);
      const { identity } = payment;
      const checked = await gate.reconcileOne({ identity, transaction });
      if (checked === null)
        throw new AppError(
          'payment_in_progress',
          'The gateway works on this payment. Try again in a minute.',
        );
      const { state, reason } = checked;
      return { payment: identity, state, reason, transaction: checked.transaction };
    });
  },
});
