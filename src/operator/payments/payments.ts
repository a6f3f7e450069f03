import { z } from 'zod';
import type { JsonObject } from '../../kit/json.ts';
import { timeOrNullOf } from '../../operations/answer-fields.ts';
import {
  maxRefunds,
  requirePayment,
  listPayments as findPayments,
} from '../../payments/records/find-payments.ts';
import { describePayment } from '../../payments/records/describe-payment.ts';
import { findNetwork } from '../../payments/chains/networks.ts';
import type { TokenTexts } from '../../payments/records/token-amount.ts';
import { sumPayments as addUp } from '../../payments/records/sum-payments.ts';
import { paymentStates } from '../../rules/payments.ts';
import type { Payment } from '../../store/store.ts';
import { limitField, dayFields, readField, showDays, shownDays, toDays } from '../fields.ts';
import { readVerb } from '../verb.ts';
import { defineView, like } from '../../operations/view.ts';
import { formatTable } from '../format-table.ts';
import {
  amountTextOf,
  openTokenTexts,
  paymentField,
  paymentTable,
  paymentView,
  refundTable,
  refundView,
} from './payment-view.ts';

/** Above the number of open refunds. */
const maxOpenRefunds = 1_000;

const state = z.enum(paymentStates);

const networkField = readField(
  100,
  (text, refuse): string =>
    findNetwork(text)?.id ?? refuse('must be the name of a network, such as base or eip155:8453'),
);

export const listPayments = readVerb({
  name: 'list_payments',
  title: 'List x402 payments',
  description: 'Payments, newest first.',
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
  check_at: timeOrNullOf('checkAt', null),
  lease_until: timeOrNullOf('leaseUntil', null),
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

export const getPayment = readVerb({
  name: 'get_payment',
  title: 'Get an x402 payment',
  description:
    'A payment without its proof and the sold answer, how far it got, what can be done, and its refunds.',
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

const usd = z.string().describe('In USD. One token counts as one dollar.');

const totals = {
  payments: like(z.int(), 3),
  received_usd: like(usd, '0.30'),
  refunds: like(z.int(), 1),
  refunded_usd: like(usd, '0.10'),
  net_usd: like(usd, '0.20'),
};

const network = like(z.string(), 'eip155:8453');

const sumSchema = z.strictObject({
  network,
  asset: like(z.string(), '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'),
  day: like(z.string(), '2026-11-01'),
  ...totals,
  // Missing for an unknown token.
  received_usd: like(usd.optional(), '0.30'),
  refunded_usd: like(usd.optional(), '0.10'),
  net_usd: like(usd.optional(), '0.20'),
  received_units: like(z.string().describe('In the smallest units of the token.'), '300000'),
  refunded_units: like(z.string(), '100000'),
});

const columns = 'label=NETWORK day >payments >received_usd >refunds >refunded_usd >net_usd';

const labelOf = (network: string): string => findNetwork(network)?.label ?? network;

export const sumPayments = readVerb({
  name: 'sum_payments',
  title: 'Sum up payments by network and day',
  description:
    'Settled payments and settled refunds by network and by day in UTC: a payment on the day of its settlement, a refund ' +
    'on the day when it became final. The totals leave out unknown tokens.',
  path: '/payments/sums',
  fields: dayFields,
  output: z.strictObject({
    ...shownDays,
    sums: z.array(sumSchema),
    by_network: z.array(z.strictObject({ network, ...totals })),
    total: z.strictObject(totals),
    left_out: z.array(sumSchema).describe('The sums of unknown tokens.'),
  }),
  answer: 'PaymentSums',
  example: { from: '2026-11-01', to: '2026-11-30' },
  exampleAnswer: { left_out: [] },
  command: {
    usage: 'payments sums [--from <day>] [--to <day>]',
    more: 'One token counts as one US dollar. The exit code is 1 if there are unknown tokens.',
    examples: ['--json | jq -r .total.net_usd'],
    show: ({ from, to, sums, by_network: byNetwork, total, left_out: leftOut }) => {
      if (sums.length === 0) return `Nothing was settled or refunded from ${from} to ${to}.`;
      const rows = sums.map((sum) => ({
        received_usd: `${sum.received_units} units`,
        refunded_usd: `${sum.refunded_units} units`,
        net_usd: '?',
        ...sum,
      }));
      const inAll = [...byNetwork, { network: 'all networks', ...total }];
      const text = formatTable(
        columns,
        [...rows, ...inAll.map((one) => ({ ...one, day: 'all days' }))].map((one) => ({
          ...one,
          label: labelOf(one.network),
        })),
      );
      if (leftOut.length === 0) return text;
      return { text, remark: `The totals leave out ${leftOut.length} rows of unknown tokens.`, exitCode: 1 };
    },
  },
  handle: async (given, services) => {
    const { store, clock } = services;
    const days = toDays(given, clock.now());
    const { findToken } = await openTokenTexts(services);
    return { ...showDays(days), ...(await addUp(days, { store, findToken })) };
  },
});
