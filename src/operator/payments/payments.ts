import { z } from 'zod';
import { isoOrNull } from '../../kit/clock.ts';
import type { JsonObject } from '../../kit/json.ts';
import { time } from '../../operations/answer-fields.ts';
import {
  maxRefunds,
  requirePayment,
  listPayments as findPayments,
} from '../../payments/records/find-payments.ts';
import { describePayment } from '../../payments/records/describe-payment.ts';
import { findNetwork } from '../../payments/chains/networks.ts';
import type { TokenTexts } from '../../payments/records/token-amount.ts';
import type { Payment } from '../../store/store.ts';
import { limitField } from '../fields.ts';
import { operatorRead } from '../operator-operation.ts';
import { formatTable } from '../table.ts';
import { defineView } from '../view.ts';
import {
  amountTextOf,
  openTokenTexts,
  paymentField,
  paymentTable,
  paymentView,
  refundTable,
  refundView,
} from './payment-view.ts';
import { paymentStates } from '../../rules/payments.ts';

/** Above the number of open refunds. */
const maxOpenRefunds = 1_000;

const state = z.enum(paymentStates);

const networkField = z
  .string()
  .max(100)
  .transform((text, context) => {
    const network = findNetwork(text);
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
    payments: z.array(paymentView.schema),
    refunds: z.array(refundView.schema).optional().describe('With `stuck`: the open refunds.'),
    has_more: z.boolean(),
  }),
  answer: 'PaymentPage',
  example: { network: 'base', limit: 100 },
  errors: ['payment_not_found', 'payment_ambiguous'],
  command: {
    usage:
      'payments list [--state <state...>] [--network <network>] [--stuck] [--before <payment>] [--limit <count>]',
    examples: ['--stuck', '--state unknown broadcasting --network base --json', '--before 0x5f3c9a1e'],
    of: 'payments',
    show: async ({ payments, refunds = [] }, services) => {
      const tokens = await openTokenTexts(services);
      return [
        payments.length === 0 ? 'There are no such payments.' : paymentTable(payments, tokens),
        ...(refunds.length === 0 ? [] : ['Open refunds:', refundTable(refunds, tokens)]),
      ].join('\n\n');
    },
  },
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
      payments: payments.map((payment) => paymentView.show(payment, tokens)),
      ...(refunds === null ? {} : { refunds: refunds.map((refund) => refundView.show(refund, tokens)) }),
      has_more: hasMore,
    };
  },
});

const { example } = paymentView;

const wholePaymentView = defineView<Payment, TokenTexts>({
  check_at: 'When the gateway asks the chain next.',
  lease_until: 'Until then a process works on it.',
  terms: 'The terms that the buyer accepted.',
  result_bytes: 'The size of the stored answer.',
})({
  ...paymentView.members,
  check_at: [time.nullable(), ({ checkAt }) => isoOrNull(checkAt), null],
  lease_until: [time.nullable(), ({ leaseUntil }) => isoOrNull(leaseUntil), null],
  terms: [
    z.json(),
    ({ requirements }) => JSON.parse(requirements) as JsonObject,
    { scheme: 'exact', network: example.network, amount: example.amount_units },
  ],
  result_bytes: [
    z.int().nullable(),
    ({ result }) => (result === null ? null : Buffer.byteLength(result)),
    812,
  ],
});

export const getPayment = operatorRead({
  name: 'get_payment',
  title: 'Get an x402 payment',
  description:
    'A payment without its proof and the sold answer, how far it got, what can be done, and its refunds.',
  group: 'payments',
  path: '/payments/{payment}',
  fields: { payment: paymentField },
  output: z.strictObject({
    payment: wholePaymentView.schema,
    refunds: z.array(refundView.schema),
    happened: z.string().describe('How far it got, for people.'),
    advice: z.string().describe('What can be done, for people.'),
  }),
  answer: 'PaymentStory',
  example: { payment: '0x5f3c9a1e' },
  exampleAnswer: {
    happened: 'The chain has the payment. Its buyer was answered.',
    advice: 'It can be refunded.',
  },
  errors: ['payment_not_found', 'payment_ambiguous'],
  command: {
    usage: 'payments show <payment>',
    examples: ['0x5f3c9a1e --json | jq .advice'],
    show: async ({ payment, refunds, happened, advice }, services) => {
      const { terms: _terms, result_bytes: bytes, ...facts } = payment;
      const tokens = await openTokenTexts(services);
      const rows = Object.entries({
        ...facts,
        amount: amountTextOf(facts, tokens),
        stored_answer: bytes && `${bytes} bytes`,
      }).map(([name, value]) => ({ field: name.replaceAll('_', ' '), value }));
      return [
        formatTable('field value', rows),
        `${happened}\n${advice}`,
        refunds.length === 0 ? 'It has no refunds.' : refundTable(refunds, tokens),
      ].join('\n\n');
    },
  },
  handle: async ({ payment: given }, services) => {
    const { store, clock } = services;
    const tokens = await openTokenTexts(services);
    const payment = await requirePayment(store, given);
    const refunds = await store.listRefunds({ payment: payment.identity, limit: maxRefunds });
    return {
      payment: wholePaymentView.show(payment, tokens),
      refunds: refunds.map((refund) => refundView.show(refund, tokens)),
      ...describePayment(payment, clock.now()),
    };
  },
});
