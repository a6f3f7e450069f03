import { Option } from 'commander';
import { listBought } from '../../operator/payments/list-bought.ts';
import { limitOption, type CommandDefinition } from '../command-definition.ts';
import { formatTable } from '../format-table.ts';
import { dayOptions, type DayOptions } from './day-options.ts';

interface BoughtOptions extends DayOptions {
  before?: string;
  limit: number;
}

const operationColumns = {
  OPERATION: 'operation',
  PAYMENTS: { right: 'payments' },
  'BOUGHT USD': { right: 'bought_usd' },
  'SOLD USD': { right: 'sold_usd' },
  'MARGIN USD': { right: 'margin_usd' },
};

const upstreamColumns = {
  UPSTREAM: 'upstream',
  'SPENT TODAY USD': { right: 'spent_today_usd' },
  'MOST A DAY USD': { right: 'max_usd_per_day' },
};

const paymentColumns = {
  CREATED: 'created_at',
  STATE: 'state',
  USD: { right: 'price_usd' },
  UPSTREAM: 'upstream',
  OPERATION: 'operation',
  TRANSACTION: 'transaction',
  REASON: 'reason',
};

export const boughtCommand: CommandDefinition<[BoughtOptions]> = {
  name: 'bought',
  summary: 'list payments to upstreams, with the margin of each operation',
  description:
    'Lists what the gateway has paid by x402 to upstreams, newest first; sums up by operation what was bought and what ' +
    'it was sold for; and tells how much of the budgets of today is spent.',
  examples: [
    'causeway payments bought',
    'causeway payments bought --from 2026-10-01 --to 2026-10-31 --limit 20',
    'causeway payments bought --json | jq .operations',
  ],
  options: [
    ...dayOptions,
    new Option('--before <payment>', 'only those older than this one: the next page'),
    limitOption(2_000, 100),
  ],
  run: async ({ operate }, options) => {
    const page = await operate(listBought, options);
    const { from, to, operations, upstreams, payments, has_more: hasMore } = page;
    return {
      json: page,
      text: [
        operations.length === 0
          ? `Nothing was bought from ${from} to ${to}.`
          : `From ${from} to ${to}:\n${formatTable(operationColumns, operations)}`,
        ...(upstreams.length === 0 ? [] : [formatTable(upstreamColumns, upstreams)]),
        ...(payments.length === 0 ? [] : [formatTable(paymentColumns, payments)]),
      ].join('\n\n'),
      remark: hasMore
        ? `There are more: raise --limit, or continue with --before ${payments.at(-1)?.payment}`
        : undefined,
    };
  },
};
