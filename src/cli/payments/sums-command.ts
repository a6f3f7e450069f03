import { sumPayments, type PaymentSumsView } from '../../operator/payments/sum-payments.ts';
import { findKnownNetwork } from '../../purchases/token-amount.ts';
import type { CommandDefinition } from '../command-definition.ts';
import { formatTable } from '../format-table.ts';
import { dayOptions, type DayOptions } from './day-options.ts';

const columns = {
  NETWORK: 'label',
  DAY: 'day',
  PAYMENTS: { right: 'payments' },
  'RECEIVED USD': { right: 'received_usd' },
  REFUNDS: { right: 'refunds' },
  'REFUNDED USD': { right: 'refunded_usd' },
  'NET USD': { right: 'net_usd' },
};

const toTable = ({ sums, by_network: byNetwork, total }: PaymentSumsView): string => {
  const labelOf = (network: string): string => findKnownNetwork(network)?.label ?? network;
  return formatTable(columns, [
    ...sums.map((sum) => ({
      label: labelOf(sum.network),
      received_usd: `${sum.received_units} units`,
      refunded_usd: `${sum.refunded_units} units`,
      net_usd: '?',
      ...sum,
    })),
    ...byNetwork.map(({ network, ...totals }) => ({ label: labelOf(network), day: 'all days', ...totals })),
    { label: 'all networks', day: 'all days', ...total },
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
  run: async ({ operate }, { from, to }) => {
    const summed = await operate(sumPayments, { from, to });
    const { sums, left_out: leftOut } = summed;
    return {
      json: summed,
      text:
        sums.length === 0
          ? `Nothing was settled or refunded from ${summed.from} to ${summed.to}.`
          : toTable(summed),
      ...(leftOut.length > 0
        ? { remark: `The totals leave out ${leftOut.length} rows of unknown tokens.`, exitCode: 1 }
        : {}),
    };
  },
};
