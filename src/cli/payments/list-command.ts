import { Option } from 'commander';
import { listPayments } from '../../operator/payments/list-payments.ts';
import { openTokenTexts } from '../../operator/payments/token-texts.ts';
import { paymentStates } from '../../store/payment-states.ts';
import type { PaymentState } from '../../store/store.ts';
import { limitOption, type CommandDefinition } from '../command-definition.ts';
import { paymentTable, refundTable } from './tables.ts';

interface ListOptions {
  state?: PaymentState[];
  network?: string;
  stuck?: true;
  before?: string;
  limit: number;
}

export const listCommand: CommandDefinition<[ListOptions]> = {
  name: 'list',
  summary: 'list payments',
  description:
    'Lists payments, newest first. With --stuck, only payments that should have ended, because their outcome is ' +
    'unknown or they have been settling for more than 15 minutes; and the open refunds.',
  examples: [
    'causeway payments list',
    'causeway payments list --stuck',
    'causeway payments list --state unknown broadcasting --network base --json',
    'causeway payments list --before 0x5f3c9a1e',
  ],
  options: [
    new Option('--state <state...>', 'only those in these states').choices(paymentStates),
    new Option('--network <network>', 'only those on this network, such as base'),
    new Option('--stuck', 'only those that need a look, and open refunds'),
    new Option('--before <payment>', 'only those older than this one: the next page'),
    limitOption(2_000, 100),
  ],
  run: async (session, options) => {
    const page = await session.operate(listPayments, options);
    const { payments, refunds = [], has_more: hasMore } = page;
    const tokens = await openTokenTexts(session);
    return {
      json: page,
      text: [
        payments.length === 0 ? 'There are no such payments.' : paymentTable(payments, tokens),
        ...(refunds.length === 0 ? [] : ['Open refunds:', refundTable(refunds, tokens)]),
      ].join('\n\n'),
      remark: hasMore
        ? `There are more: raise --limit, or continue with --before ${payments.at(-1)?.payment}`
        : undefined,
    };
  },
};
