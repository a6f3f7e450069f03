import { Argument, Option } from 'commander';
import { openTokenTexts } from '../../operator/payments/token-texts.ts';
import { cancelRefund } from '../../operator/payments/cancel-refund.ts';
import { listRefunds } from '../../operator/payments/list-refunds.ts';
import { limitOption, type CommandDefinition } from '../command-definition.ts';
import { exampleId } from '../examples.ts';
import { readUuid } from '../read-arguments.ts';
import { refundTable } from './tables.ts';

interface RefundsOptions {
  open?: true;
  all?: true;
  before?: string;
  limit: number;
}

export const refundsCommand: CommandDefinition<[string | undefined, RefundsOptions]> = {
  name: 'refunds',
  summary: 'list refunds: the open ones, those of a payment, or all',
  description:
    'Lists the open refunds, oldest first; with a payment, all of its refunds; with --all, those of all payments, ' +
    'newest first.',
  examples: [
    'causeway payments refunds --open',
    'causeway payments refunds --all --limit 20',
    'causeway payments refunds 0x5f3c9a1e --json',
  ],
  arguments: [new Argument('[payment]', 'its identity, its transaction, or the beginning of either')],
  options: [
    new Option('--open', 'only open ones, of this payment too'),
    new Option('--all', 'also ended ones, of all payments, newest first').conflicts('open'),
    new Option('--before <refund>', 'of all, only those older than this one: the next page')
      .argParser(readUuid)
      .implies({ all: true }),
    limitOption(10_000, 1_000),
  ],
  run: async (session, payment, { open, all, before, limit }) => {
    const page = await session.operate(listRefunds, { payment, open, all, before, limit });
    const { refunds, has_more: hasMore } = page;
    const next = all === true ? `, or continue with --before ${refunds.at(-1)?.refund}` : '.';
    return {
      json: page,
      text:
        refunds.length === 0
          ? 'There are no such refunds.'
          : refundTable(refunds, await openTokenTexts(session)),
      remark: hasMore ? `There are more: raise --limit${next}` : undefined,
    };
  },
};

export const cancelRefundCommand: CommandDefinition<[string]> = {
  name: 'cancel-refund',
  summary: 'cancel a refund before anything of it is signed',
  description:
    'Cancels a planned refund, so that its amount can be refunded in another way. A signed refund cannot be canceled, ' +
    'as it may land at any time.',
  examples: [`causeway payments cancel-refund ${exampleId}`],
  arguments: [new Argument('<refund>', 'id of the refund').argParser(readUuid)],
  run: async ({ operate }, id) => ({
    json: await operate(cancelRefund, { refund_id: id }),
    text: `Refund ${id} is canceled.`,
  }),
};
