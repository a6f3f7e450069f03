import { z } from 'zod';
import { toIso } from '../../kit/clock.ts';
import { ConfigError, instead } from '../../kit/errors.ts';
import { formatUsd } from '../../kit/money.ts';
import { time, timeOf } from '../../operations/answer-fields.ts';
import { idField } from '../../operations/id-field.ts';
import { sumBought } from '../../payments/records/sum-payments.ts';
import { paidUpstreams } from '../../payments/buying/paid-upstreams.ts';
import type { BoughtPayment } from '../../store/store.ts';
import { limitField, dayFields, showDays, shownDays, toDays } from '../fields.ts';
import { readVerb, type OperatorServices, requireFound } from '../verb.ts';
import { defineView, like, toPage } from '../../operations/view.ts';
import { formatTable } from '../format-table.ts';
import { openTokenTexts, text, textOrNull } from './payment-view.ts';

export const paySchema = z.strictObject({
  spent_today_usd: like(z.string().describe('In this UTC day, by all processes.'), '1.20'),
  max_usd_per_day: like(z.string(), '5.00'),
  last_problem: like(
    z
      .strictObject({ text: z.string(), at: time })
      .nullable()
      .describe('Why an answer was not bought, as the process that answers has seen it last.'),
    null,
  ),
});

export type PayView = z.output<typeof paySchema>;

/** Reads the state of each upstream that is paid by x402, by its name; none while a setting is wrong. */
export const readPayViews = async ({
  store,
  clock,
  config,
  gateway,
}: OperatorServices): Promise<Map<string, PayView>> => {
  const spending = await store.listBoughtSpending(clock.now());
  const problems = gateway?.buyer?.problems();
  const paid = await config().then(
    paidUpstreams,
    instead([], (error) => error instanceof ConfigError),
  );
  return new Map(
    paid.map(({ upstream, pay }) => {
      const last = problems?.get(upstream);
      const view: PayView = {
        spent_today_usd: formatUsd(spending.find((one) => one.upstream === upstream)?.spent ?? 0n),
        max_usd_per_day: formatUsd(pay.maxPerDay),
        last_problem: last === undefined ? null : { text: last.problem, at: toIso(last.at) },
      };
      return [upstream, view];
    }),
  );
};

/** Leaves out the proof, which others could send. */
const boughtView = defineView<BoughtPayment>({
  payment: 'Its identity: what the chain accepts only once.',
  state:
    '`sent`: written down before it was sent, and no whole answer has come. `answered`: a whole answer came. `lost`: the ' +
    'chain has it, and no whole answer came. `unused`: proven not to have happened; it left the budget of its day.',
  operation: 'The kind of the job, or the operation that was sold.',
  sold_payment: 'The payment of the buyer for whom it was bought.',
  network: 'CAIP-2.',
})({
  payment: [
    z.string(),
    'identity',
    'eip155:8453:0x833589fcd6edb6e08f4c7c32d4f71b54bda02913:0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc:0x5f3c',
  ],
  state: [z.enum(['sent', 'answered', 'lost', 'unused']), 'state', 'answered'],
  upstream: [text, 'upstream', 'leads.http'],
  operation: [z.string(), 'operation', 'search_leads'],
  job_id: [textOrNull, 'jobId', null],
  sold_payment: [textOrNull, 'soldPayment', null],
  network: [z.string(), 'network', 'eip155:8453'],
  asset: [text, 'asset', '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'],
  pay_to: [text, 'payTo', '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'],
  price_usd: [text, ({ price }) => formatUsd(price), '0.10'],
  transaction: [textOrNull, 'transaction', '0x0d2e77'],
  reason: [textOrNull, 'reason', null],
  created_at: timeOf('createdAt', '2026-11-01T08:00:00.000Z'),
  updated_at: timeOf('updatedAt', '2026-11-01T08:00:02.000Z'),
});

const operationColumns = 'operation >payments >bought_usd >sold_usd >margin_usd';

const upstreamColumns = 'upstream >spent_today_usd >max_usd_per_day=MOST_A_DAY_USD';

const paymentColumns = 'created_at state >price_usd=USD upstream operation job_id=JOB transaction reason';

const operationSchema = z.strictObject({
  operation: like(z.string(), 'search_leads'),
  payments: like(z.int(), 1),
  bought_usd: like(z.string(), '0.10'),
  sold_usd: like(
    z.string().describe('What the jobs were debited, and the settled payments of buyers, less refunds.'),
    '0.14',
  ),
  margin_usd: like(z.string(), '0.04'),
});

export const listBought = readVerb({
  name: 'list_bought_payments',
  title: 'List payments to upstreams',
  description:
    'What the gateway has paid by x402 to upstreams, newest first, what it earned with that by operation, and the budgets ' +
    'of today.',
  path: '/bought-payments',
  fields: {
    ...dayFields,
    before: idField.optional().describe('Only those older than this payment: the next page.'),
    limit: limitField(2_000, 100),
  },
  output: z.strictObject({
    ...shownDays,
    operations: z
      .array(operationSchema)
      .describe(
        'Of these days. Sales that needed no new payment, as from the cache of searches, are not in it.',
      ),
    upstreams: z.array(paySchema.extend({ upstream: like(z.string(), 'leads.http') })),
    payments: z.array(boughtView.schema).describe('The newest ones, of any day.'),
    has_more: z.boolean(),
  }),
  answer: 'BoughtPaymentPage',
  example: { from: '2026-11-01', to: '2026-11-30', limit: 100 },
  errors: ['payment_not_found'],
  command: {
    usage: 'payments bought [--from <day>] [--to <day>] [--before <payment>] [--limit <count>]',
    examples: ['--json | jq .operations'],
    of: 'payments',
    show: ({ from, to, operations, upstreams, payments }) =>
      [
        operations.length === 0
          ? `Nothing was bought from ${from} to ${to}.`
          : `From ${from} to ${to}:\n${formatTable(operationColumns, operations)}`,
        ...(upstreams.length === 0 ? [] : [formatTable(upstreamColumns, upstreams)]),
        ...(payments.length === 0 ? [] : [formatTable(paymentColumns, payments)]),
      ].join('\n\n'),
  },
  handle: async ({ before, limit, ...given }, services) => {
    const { store, clock } = services;
    const days = toDays(given, clock.now());
    const { findToken } = await openTokenTexts(services);
    const last =
      before === undefined ? null : requireFound(await store.getBoughtPayment(before), 'payment', before);
    const found = await store.listBoughtPayments({ before: last, limit: limit + 1 });
    const views = await readPayViews(services);
    return {
      ...showDays(days),
      operations: sumBought(await store.sumBoughtPayments(days), findToken),
      upstreams: [...views].map(([upstream, view]) => ({ upstream, ...view })),
      ...toPage('payments', found, { limit, show: boughtView.show }),
    };
  },
});
