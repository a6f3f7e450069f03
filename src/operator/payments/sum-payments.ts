import { z } from 'zod';
import { sumPayments as addUp } from '../../payments/records/sum-payments.ts';
import { findNetwork } from '../../payments/chains/networks.ts';
import { operatorRead } from '../operator-operation.ts';
import { formatTable } from '../table.ts';
import { like } from '../view.ts';
import { dayFields, shownDays, toDay, toDays } from './days.ts';
import { openTokenTexts } from './payment-view.ts';

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

export const sumPayments = operatorRead({
  name: 'sum_payments',
  title: 'Sum up payments by network and day',
  description:
    'Settled payments and settled refunds by network and by day in UTC: a payment on the day of its settlement, a refund ' +
    'on the day when it became final. The totals leave out unknown tokens.',
  group: 'payments',
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
    return { from: toDay(days.from), to: toDay(days.to - 1), ...(await addUp(days, { store, findToken })) };
  },
});
