import { Argument, Option } from 'commander';
import type { PaymentRefund, Store } from '../../store/store.ts';
import { limitOption, type CommandDefinition } from '../command-definition.ts';
import { CommandError, requireFound } from '../command-error.ts';
import { exampleId } from '../examples.ts';
import { readUuid } from '../read-arguments.ts';
import { moveRefund } from '../../purchases/refunds/refund-events.ts';
import { openPaymentViews, refundTable, requirePayment } from './views.ts';

const maxListed = 10_000;

interface RefundsOptions {
  open?: true;
  all?: true;
  before?: string;
  limit: number;
}

const isOpen = ({ state }: PaymentRefund): boolean => state === 'planned' || state === 'sending';

/** Finds one more than `limit`, if there is one. Throws CommandError. */
const findRefunds = async (
  store: Store,
  { given, open, all, before, limit }: RefundsOptions & { given: string | undefined },
): Promise<PaymentRefund[]> => {
  if (all !== true) {
    if (given === undefined) return store.listRefunds({ payment: null, limit: limit + 1 });
    const { identity: payment } = await requirePayment(store, given);
    if (open !== true) return store.listRefunds({ payment, limit: limit + 1 });
    return (await store.listRefunds({ payment, limit: maxListed })).filter(isOpen).slice(0, limit + 1);
  }
  if (given !== undefined)
    throw new CommandError(
      'invalid_usage',
      'Name a payment, or list the refunds of all with --all; not both.',
    );
  const last = before === undefined ? null : requireFound(await store.getRefund(before), 'refund', before);
  return store.listNewestRefunds({
    before: last && { createdAt: last.createdAt, id: last.id },
    limit: limit + 1,
  });
};

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
    limitOption(maxListed, 1_000),
  ],
  run: async (session, given, options) => {
    const { all, limit } = options;
    const views = await openPaymentViews(session);
    const found = await findRefunds(session.store, { ...options, given });
    const listed = found.slice(0, limit);
    const hasMore = found.length > limit;
    const next = all === true ? `, or continue with --before ${listed.at(-1)?.id}` : '.';
    return {
      json: { refunds: listed.map(views.refundJson), has_more: hasMore },
      text: listed.length === 0 ? 'There are no such refunds.' : refundTable(listed, views),
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
  run: async (session, id) => {
    const { store, clock } = session;
    const { refundJson } = await openPaymentViews(session);
    const canceled = await moveRefund({ store, clock }, id, 'canceled', { reason: 'canceled' });
    if (canceled !== null)
      return { json: { refund: refundJson(canceled) }, text: `Refund ${id} is canceled.` };
    const { state } = requireFound(await store.getRefund(id), 'refund', id);
    throw new CommandError('refund_conflict', `Refund ${id} is ${state} and cannot be canceled any more.`);
  },
};
