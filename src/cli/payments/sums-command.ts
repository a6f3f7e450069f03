import type { Command } from 'commander';
import type { JsonObject } from '../../kit/json.ts';
import { findKnownNetwork, formatTokenAmount, type FindToken } from '../../purchases/token-amount.ts';
import type { PaymentSum } from '../../store/store.ts';
import type { CommandContext } from '../command-context.ts';
import { addExamples } from '../examples.ts';
import { formatTable } from '../format-table.ts';
import { readTokens } from './tokens.ts';
import { addDayOptions, toDay, toDays, type DayOptions } from './days.ts';

/** Fine enough for every token: dollars are summed in 10^-18. */
const usdDecimals = 18;

interface Total {
  payments: number;
  /** 10^-18 USD. */
  received: bigint;
  refunds: number;
  refunded: bigint;
}

const nothing: Total = { payments: 0, received: 0n, refunds: 0, refunded: 0n };

/** One token is one dollar. Null for a token that is not known, whose worth is not known either. */
const toTotal = (sum: PaymentSum, findToken: FindToken): Total | null => {
  const token = findToken(sum);
  if (token === null || token.decimals > usdDecimals) return null;
  const scale = 10n ** BigInt(usdDecimals - token.decimals);
  const { payments, amount, refunds, refunded } = sum;
  return { payments, received: amount * scale, refunds, refunded: refunded * scale };
};

interface Row {
  sum: PaymentSum;
  total: Total | null;
}

const add = (a: Total, b: Total): Total => ({
  payments: a.payments + b.payments,
  received: a.received + b.received,
  refunds: a.refunds + b.refunds,
  refunded: a.refunded + b.refunded,
});

const usd = (amount: bigint): string =>
  amount < 0n ? `-${formatTokenAmount(-amount, usdDecimals)}` : formatTokenAmount(amount, usdDecimals);

const totalJson = (total: Total): JsonObject => ({
  payments: total.payments,
  received_usd: usd(total.received),
  refunds: total.refunds,
  refunded_usd: usd(total.refunded),
  net_usd: usd(total.received - total.refunded),
});

const sumJson = ({ sum, total }: Row): JsonObject => ({
  network: sum.network,
  asset: sum.asset,
  day: sum.day,
  ...(total === null ? { payments: sum.payments, refunds: sum.refunds } : totalJson(total)),
  received_units: sum.amount.toString(),
  refunded_units: sum.refunded.toString(),
});

const totalCells = (total: Total): string[] => [
  String(total.payments),
  usd(total.received),
  String(total.refunds),
  usd(total.refunded),
  usd(total.received - total.refunded),
];

const sumCells = ({ sum, total }: Row): string[] => {
  const labelled = [findKnownNetwork(sum.network)?.label ?? sum.network, sum.day];
  return total === null
    ? [
        ...labelled,
        String(sum.payments),
        `${sum.amount} units`,
        String(sum.refunds),
        `${sum.refunded} units`,
        '?',
      ]
    : [...labelled, ...totalCells(total)];
};

const totalsByNetwork = (rows: readonly Row[]): [string, Total][] => {
  const totals = new Map<string, Total>();
  for (const { sum, total } of rows)
    if (total !== null) totals.set(sum.network, add(totals.get(sum.network) ?? nothing, total));
  return [...totals];
};

const toTable = (rows: readonly Row[], byNetwork: readonly [string, Total][], all: Total): string =>
  formatTable(
    [
      { title: 'NETWORK' },
      { title: 'DAY' },
      { title: 'PAYMENTS', align: 'right' },
      { title: 'RECEIVED USD', align: 'right' },
      { title: 'REFUNDS', align: 'right' },
      { title: 'REFUNDED USD', align: 'right' },
      { title: 'NET USD', align: 'right' },
    ],
    [
      ...rows.map(sumCells),
      ...byNetwork.map(([network, total]) => [
        findKnownNetwork(network)?.label ?? network,
        'all days',
        ...totalCells(total),
      ]),
      ['all networks', 'all days', ...totalCells(all)],
    ],
  );

/** Adds `payments sums`. */
export const addSumsCommand = (payments: Command, context: CommandContext): void => {
  const sums = payments
    .command('sums')
    .summary('what came in and went back, by network and day')
    .description(
      'Sums up what was settled and what was refunded, by network and by day in UTC: a payment on the day of its ' +
        'settlement, a refund on that of its end, once no fork can take it back. One token counts as one US dollar; what is ' +
        'in tokens that are not known is left out of the totals, and then the command ends with 1.',
    );
  addDayOptions(sums).action((options: DayOptions) =>
    context.run(async ({ store, clock, config }) => {
      const days = toDays(options, clock.now());
      const findToken = await readTokens({ config });
      const found = (await store.sumPayments(days)).map((sum) => ({ sum, total: toTotal(sum, findToken) }));
      const byNetwork = totalsByNetwork(found);
      const all = byNetwork.reduce((total, [, ofNetwork]) => add(total, ofNetwork), nothing);
      const leftOut = found.filter(({ total }) => total === null);
      const period = { from: toDay(days.from), to: toDay(days.to - 1) };
      return {
        json: {
          ...period,
          sums: found.map(sumJson),
          by_network: byNetwork.map(([network, total]) => ({ network, ...totalJson(total) })),
          total: totalJson(all),
          left_out: leftOut.map(sumJson),
        },
        text:
          found.length === 0
            ? `Nothing was settled or refunded from ${period.from} to ${period.to}.`
            : toTable(found, byNetwork, all),
        ...(leftOut.length > 0
          ? {
              remark: `The totals leave out ${leftOut.length} rows of tokens that are not known.`,
              exitCode: 1,
            }
          : {}),
      };
    }),
  );
  addExamples(sums, [
    'causeway payments sums',
    'causeway payments sums --from 2026-10-01 --to 2026-10-31',
    'causeway payments sums --json | jq -r .total.net_usd',
  ]);
};
