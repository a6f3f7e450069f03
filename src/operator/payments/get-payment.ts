import { z } from 'zod';
import { isoOrNull } from '../../kit/clock.ts';
import type { JsonObject } from '../../kit/json.ts';
import { time } from '../../operations/answer-fields.ts';
import { maxRefunds, requirePayment } from '../../purchases/find-payments.ts';
import { tellPayment } from '../../purchases/tell-payment.ts';
import { operatorRead } from '../operator-operation.ts';
import { exampleRefund, refundSchema, toRefundView } from './refund-view.ts';
import { examplePayment, paymentField, paymentSchema, toPaymentView } from './payment-view.ts';
import { openTokenTexts } from './token-texts.ts';

export const getPayment = operatorRead({
  name: 'get_payment',
  title: 'Get an x402 payment',
  description:
    'A payment without its proof and the sold answer, how far it got, what can be done, and its refunds.',
  group: 'payments',
  path: '/payments/{payment}',
  fields: { payment: paymentField },
  output: z.strictObject({
    payment: paymentSchema.extend({
      check_at: time.nullable().describe('When the gateway asks the chain next.'),
      lease_until: time.nullable().describe('Until then a process works on it.'),
      terms: z.json().describe('The terms that the buyer accepted.'),
      result_bytes: z.int().nullable().describe('The size of the stored answer.'),
    }),
    refunds: z.array(refundSchema),
    happened: z.string().describe('How far it got, for people.'),
    advice: z.string().describe('What can be done, for people.'),
  }),
  answer: 'PaymentStory',
  example: {
    input: { payment: '0x5f3c9a1e' },
    answer: {
      payment: {
        ...examplePayment,
        check_at: null,
        lease_until: null,
        terms: { scheme: 'exact', network: examplePayment.network, amount: examplePayment.amount_units },
        result_bytes: 812,
      },
      refunds: [exampleRefund],
      happened: 'The chain has the payment. Its buyer was answered.',
      advice: 'It can be refunded.',
    },
  },
  errors: ['payment_not_found', 'payment_ambiguous'],
  handle: async ({ payment: given }, services) => {
    const { store, clock } = services;
    const tokens = await openTokenTexts(services);
    const payment = await requirePayment(store, given);
    const refunds = await store.listRefunds({ payment: payment.identity, limit: maxRefunds });
    return {
      payment: {
        ...toPaymentView(payment, tokens),
        check_at: isoOrNull(payment.checkAt),
        lease_until: isoOrNull(payment.leaseUntil),
        terms: JSON.parse(payment.requirements) as JsonObject,
        result_bytes: payment.result === null ? null : Buffer.byteLength(payment.result),
      },
      refunds: refunds.map((refund) => toRefundView(refund, tokens)),
      ...tellPayment(payment, clock.now()),
    };
  },
});
