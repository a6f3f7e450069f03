import type { JsonObject } from '../../kit/json.ts';
import { findKnownNetwork, formatTokenAmount, type FindToken } from '../../purchases/token-amount.ts';
import type { PaymentSum } from '../../store/store.ts';
import type { CommandDefinition } from '../command-definition.ts';
import { formatTable } from '../format-table.ts';
import { dayOptions, toDay, toDays, type DayOptions } from './days.ts';
import { openPaymentViews } from './views.ts';

/** Dollars are summed in 10^-18, which is exact for every token. */
const usdDecimals = 18;

interface Total {
  payments: number;
  /** 10^-18 USD. */
  received: bigint;
  refunds: number;
  refunded: bigint;
}

/** One token is one dollar. Null for an unknown token, whose value is not known either. */
const toTotal = (sum: PaymentSum, findToken: FindToken): Total | null => {
  const token = findToken(sum);
  if (token === null || token.decimals > usdDecimals) return null;
  const scale = 10n ** BigInt(usdDecimals - token.decimals);
  const { payments, amount, refunds, refunded } = sum;
  return { payments, received: amount * scale, refunds, refunded: refunded * scale };
};

const addTotals = (totals: readonly Total[]): Total =>
  totals.reduce(
    (sum, { payments, received, refunds, refunded }) => ({
      payments: sum.payments + payments,
      received: sum.received + received,
      refunds: sum.refunds + refunds,
      refunded: sum.refunded + refunded,
    }),
    { payments: 0, received: 0n, refunds: 0, refunded: 0n },
  );

const usd = (amount: bigint): string =>
  amount < 0n ? `-${formatTokenAmount(-amount, usdDecimals)}` : formatTokenAmount(amount, usdDecimals);

const totalJson = ({ payments, received, refunds, refunded }: Total) => ({
  payments,
  received_usd: usd(received),
  refunds,
  refunded_usd: usd(refunded),
  net_usd: usd(received - refunded),
});

interface Row {
  sum: PaymentSum;
  total: Total | null;
}

const sumJson = ({ sum, total }: Row): JsonObject => ({
  network: sum.network,
  asset: sum.asset,
  day: sum.day,
  ...(total === null ? { payments: sum.payments, refunds: sum.refunds } : totalJson(total)),
  received_units: sum.amount.toString(),
  refunded_units: sum.refunded.toString(),
});

const columns = {
  NETWORK: 'label',
  DAY: 'day',
  PAYMENTS: { right: 'payments' },
  'RECEIVED USD': { right: 'received_usd' },
  REFUNDS: { right: 'refunds' },
  'REFUNDED USD': { right: 'refunded_usd' },
  'NET USD': { right: 'net_usd' },
};

const toTable = (rows: readonly Row[], byNetwork: readonly [string, Total][], all: Total): string => {
  const labelOf = (network: string): string => findKnownNetwork(network)?.label ?? network;
  const unknown = ({ amount, refunded }: PaymentSum) => ({
    received_usd: `${amount} units`,
    refunded_usd: `${refunded} units`,
    net_usd: '?',
  });
  return formatTable(columns, [
    ...rows.map((row) => ({
      label: labelOf(row.sum.network),
      ...sumJson(row),
      ...(row.total === null ? unknown(row.sum) : {}),
    })),
    ...[
      ...byNetwork.map(([network, total]) => ({ label: labelOf(network), total })),
      { label: 'all networks', total: all },
    ].map(({ label, total }) => ({ label, day: 'all days', ...totalJson(total) })),
  ]);
};

export const sumsCommand: CommandDefinition<[DayOptions]> = {
  name: 'sums',
  summary: 'sum up payments and refunds by network and day',
  description:
    'Sums up settled payments and settled refunds by network and by day in UTC: a payment on the day of its ' +
    'settlement, a refund on the day when it became final. One token counts as one US dollar. The totals leave out ' +
    'unknown tokens, and then the command ends with 1.',
  examples: [
    'causeway payments sums',
    'causeway payments sums --from 2026-10-01 --to 2026-10-31',
    'causeway payments sums --json | jq -r .total.net_usd',
  ],
  options: dayOptions,
  run: async (session, options) => {
    const { store, clock } = session;
    const days = toDays(options, clock.now());
    const { findToken } = await openPaymentViews(session);
    const rows = (await store.sumPayments(days)).map((sum) => ({ sum, total: toTotal(sum, findToken) }));
    const byNetwork = [...Map.groupBy(rows, ({ sum }) => sum.network)].flatMap(
      ([network, ofNetwork]): [string, Total][] => {
        const totals = ofNetwork.flatMap(({ total }) => total ?? []);
        return totals.length === 0 ? [] : [[network, addTotals(totals)]];
      },
    );
    const all = addTotals(byNetwork.map(([, total]) => total));
    const leftOut = rows.filter(({ total }) => total === null);
    const period = { from: toDay(days.from), to: toDay(days.to - 1) };
    return {
      json: {
        ...period,
        sums: rows.map(sumJson),
        by_network: byNetwork.map(([network, total]) => ({ network, ...totalJson(total) })),
        total: totalJson(all),
        left_out: leftOut.map(sumJson),
      },
      text:
        rows.length === 0
          ? `Nothing was settled or refunded from ${period.from} to ${period.to}.`
          : toTable(rows, byNetwork, all),
      ...(leftOut.length > 0
        ? { remark: `The totals leave out ${leftOut.length} rows of unknown tokens.`, exitCode: 1 }
        : {}),
    };
  },
};
