import { z } from 'zod';
import { requirePayment } from '../../purchases/find-payments.ts';
import { listPayments as findPayments } from '../../purchases/list-payments.ts';
import { findKnownNetwork } from '../../purchases/token-amount.ts';
import { paymentStates } from '../../store/payment-states.ts';
import { limitField } from '../fields.ts';
import { operatorRead } from '../operator-operation.ts';
import { refundSchema, toRefundView } from './refund-view.ts';
import { examplePayment, paymentField, paymentSchema, toPaymentView } from './payment-view.ts';
import { openTokenTexts } from './token-texts.ts';

/** Above the number of open refunds. */
const maxOpenRefunds = 1_000;

const state = z.enum(paymentStates);

const networkField = z
  .string()
  .max(100)
  .transform((text, context) => {
    const network = findKnownNetwork(text);
    if (network !== null) return network.id;
    context.addIssue({
      code: 'custom',
      message: 'must be the name of a network, such as base or eip155:8453',
    });
    return z.NEVER;
  });

export const listPayments = operatorRead({
  name: 'list_payments',
  title: 'List x402 payments',
  description: 'Payments, newest first.',
  group: 'payments',
  path: '/payments',
  fields: {
    state: z
      .union([state, z.array(state).max(paymentStates.length)])
      .transform((given) => [given].flat())
      .optional()
      .describe('Only those in this state. Repeat it for several states.'),
    network: networkField.optional().describe('Only those on this network, such as `base`.'),
    stuck: z
      .boolean()
      .default(false)
      .describe(
        'Only those that should have ended: their outcome is unknown, or they have been settling for more than 15 ' +
          'minutes; and the open refunds.',
      ),
    before: paymentField.optional().describe('Only those older than this payment: the next page.'),
    limit: limitField(2_000, 100),
  },
  output: z.strictObject({
    payments: z.array(paymentSchema),
    refunds: z.array(refundSchema).optional().describe('With `stuck`: the open refunds.'),
    has_more: z.boolean(),
  }),
  answer: 'PaymentPage',
  example: {
    input: { network: 'base', limit: 100 },
    answer: { payments: [examplePayment], has_more: false },
  },
  errors: ['payment_not_found', 'payment_ambiguous'],
  handle: async ({ state: states, network, stuck: isStuck, before, limit }, services) => {
    const { store, clock } = services;
    const tokens = await openTokenTexts(services);
    const last = before === undefined ? undefined : await requirePayment(store, before);
    const { payments, hasMore } = await findPayments(
      store,
      {
        states,
        network,
        before: last && { createdAt: last.createdAt, identity: last.identity },
        limit,
      },
      isStuck ? clock.now() : null,
    );
    const refunds = isStuck ? await store.listRefunds({ payment: null, limit: maxOpenRefunds }) : null;
    return {
      payments: payments.map((payment) => toPaymentView(payment, tokens)),
      ...(refunds === null ? {} : { refunds: refunds.map((refund) => toRefundView(refund, tokens)) }),
      has_more: hasMore,
    };
  },
});
