import { z } from 'zod';
import { sumPayments as addUp } from '../../purchases/sum-payments.ts';
import { operatorRead } from '../operator-operation.ts';
import { dayFields, toDay, toDays } from './days.ts';
import { openTokenTexts } from './token-texts.ts';

const usd = z.string().describe('In USD. One token counts as one dollar.');

const totals = {
  payments: z.int(),
  received_usd: usd,
  refunds: z.int(),
  refunded_usd: usd,
  net_usd: usd,
};

const sumSchema = z.strictObject({
  network: z.string(),
  asset: z.string(),
  day: z.string(),
  ...totals,
  // Missing for an unknown token.
  received_usd: usd.optional(),
  refunded_usd: usd.optional(),
  net_usd: usd.optional(),
  received_units: z.string().describe('In the smallest units of the token.'),
  refunded_units: z.string(),
});

const exampleTotal = {
  payments: 3,
  received_usd: '0.30',
  refunds: 1,
  refunded_usd: '0.10',
  net_usd: '0.20',
};

const sumsSchema = z.strictObject({
  from: z.string(),
  to: z.string(),
  sums: z.array(sumSchema),
  by_network: z.array(z.strictObject({ network: z.string(), ...totals })),
  total: z.strictObject(totals),
  left_out: z.array(sumSchema).describe('The sums of unknown tokens.'),
});

export type PaymentSumsView = z.output<typeof sumsSchema>;

export const sumPayments = operatorRead({
  name: 'sum_payments',
  title: 'Sum up payments by network and day',
  description:
    'Settled payments and settled refunds by network and by day in UTC: a payment on the day of its settlement, a refund ' +
    'on the day when it became final. The totals leave out unknown tokens.',
  group: 'payments',
  path: '/payments/sums',
  fields: dayFields,
  output: sumsSchema,
  answer: 'PaymentSums',
  example: {
    input: { from: '2026-11-01', to: '2026-11-30' },
    answer: {
      from: '2026-11-01',
      to: '2026-11-30',
      sums: [
        {
          network: 'eip155:8453',
          asset: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913',
          day: '2026-11-01',
          ...exampleTotal,
          received_units: '300000',
          refunded_units: '100000',
        },
      ],
      by_network: [{ network: 'eip155:8453', ...exampleTotal }],
      total: exampleTotal,
      left_out: [],
    },
  },
  handle: async (given, services) => {
    const { store, clock } = services;
    const days = toDays(given, clock.now());
    const { findToken } = await openTokenTexts(services);
    return { from: toDay(days.from), to: toDay(days.to - 1), ...(await addUp(days, { store, findToken })) };
  },
});
