import { z } from 'zod';
import { toIso } from '../../kit/clock.ts';
import { formatUsd } from '../../kit/money.ts';
import { time } from '../../operations/answer-fields.ts';
import { idField } from '../../operations/id-field.ts';
import { sumBought } from '../../purchases/bought/sum-bought.ts';
import type { BoughtPayment } from '../../store/store.ts';
import { limitField } from '../fields.ts';
import { operatorRead } from '../operator-operation.ts';
import { requireFound } from '../require-found.ts';
import { dayFields, toDay, toDays } from './days.ts';
import { examplePay, paySchema, readPayViews } from '../pay-view.ts';
import { openTokenTexts } from './token-texts.ts';

const boughtSchema = z.strictObject({
  payment: z.string().describe('Its identity: what the chain accepts only once.'),
  state: z
    .enum(['sent', 'answered', 'lost', 'unused'])
    .describe(
      '`sent`: written down before it was sent, and no whole answer has come. `answered`: a whole answer came. `lost`: the ' +
        'chain has it, and no whole answer came. `unused`: proven not to have happened; it left the budget of its day.',
    ),
  upstream: z.string(),
  operation: z.string().describe('The kind of the job, or the operation that was sold.'),
  job_id: z.string().nullable(),
  sold_payment: z.string().nullable().describe('The payment of the buyer for whom it was bought.'),
  network: z.string().describe('CAIP-2.'),
  asset: z.string(),
  pay_to: z.string(),
  price_usd: z.string(),
  transaction: z.string().nullable(),
  reason: z.string().nullable(),
  created_at: time,
  updated_at: time,
});

export type BoughtView = z.output<typeof boughtSchema>;

/** Leaves out the proof, which others could send. */
const toView = (payment: BoughtPayment): BoughtView => ({
  payment: payment.identity,
  state: payment.state,
  upstream: payment.upstream,
  operation: payment.operation,
  job_id: payment.jobId,
  sold_payment: payment.soldPayment,
  network: payment.network,
  asset: payment.asset,
  pay_to: payment.payTo,
  price_usd: formatUsd(payment.price),
  transaction: payment.transaction,
  reason: payment.reason,
  created_at: toIso(payment.createdAt),
  updated_at: toIso(payment.updatedAt),
});

const pageSchema = z.strictObject({
  from: z.string(),
  to: z.string(),
  operations: z
    .array(
      z.strictObject({
        operation: z.string(),
        payments: z.int(),
        bought_usd: z.string(),
        sold_usd: z
          .string()
          .describe('What the jobs were charged, less refunds, and the settled payments of buyers.'),
        margin_usd: z.string(),
      }),
    )
    .describe(
      'Of these days. Sales that needed no new payment, as from the cache of searches, are not in it.',
    ),
  upstreams: z.array(paySchema.extend({ upstream: z.string() })),
  payments: z.array(boughtSchema).describe('The newest ones, of any day.'),
  has_more: z.boolean(),
});

export const listBought = operatorRead({
  name: 'list_bought_payments',
  title: 'List payments to upstreams',
  description:
    'What the gateway has paid by x402 to upstreams, newest first, what it earned with that by operation, and the budgets ' +
    'of today.',
  group: 'payments',
  path: '/bought-payments',
  fields: {
    ...dayFields,
    before: idField.optional().describe('Only those older than this payment: the next page.'),
    limit: limitField(2_000, 100),
  },
  output: pageSchema,
  answer: 'BoughtPaymentPage',
  example: {
    input: { from: '2026-11-01', to: '2026-11-30', limit: 100 },
    answer: {
      from: '2026-11-01',
      to: '2026-11-30',
      operations: [
        {
          operation: 'search_leads',
          payments: 1,
          bought_usd: '0.10',
          sold_usd: '0.14',
          margin_usd: '0.04',
        },
      ],
      upstreams: [{ upstream: 'leads.http', ...examplePay }],
      payments: [
        {
          payment:
            'eip155:8453:0x833589fcd6edb6e08f4c7c32d4f71b54bda02913:0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc:0x5f3c',
          state: 'answered',
          upstream: 'leads.http',
          operation: 'search_leads',
          job_id: null,
          sold_payment: null,
          network: 'eip155:8453',
          asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
          pay_to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
          price_usd: '0.10',
          transaction: '0x0d2e77',
          reason: null,
          created_at: '2026-11-01T08:00:00.000Z',
          updated_at: '2026-11-01T08:00:02.000Z',
        },
      ],
      has_more: false,
    },
  },
  errors: ['payment_not_found'],
  handle: async ({ before, limit, ...given }, services) => {
    const { store, clock } = services;
    const days = toDays(given, clock.now());
    const { findToken } = await openTokenTexts(services);
    const last =
      before === undefined ? null : requireFound(await store.getBoughtPayment(before), 'payment', before);
    const found = await store.listBoughtPayments({ before: last, limit: limit + 1 });
    const views = await readPayViews(services);
    return {
      from: toDay(days.from),
      to: toDay(days.to - 1),
      operations: sumBought(await store.sumBoughtPayments(days), findToken),
      upstreams: [...views].map(([upstream, view]) => ({ upstream, ...view })),
      payments: found.slice(0, limit).map(toView),
      has_more: found.length > limit,
    };
  },
});
