import { Option, type Command } from 'commander';
import type { PaymentRefund, Store } from '../../store/store.ts';
import type { CommandContext } from '../command-context.ts';
import { CommandError, requireFound } from '../command-error.ts';
import { addExamples, exampleId } from '../examples.ts';
import { readCount, readUuid } from '../read-arguments.ts';
import { moveRefund } from '../../purchases/refunds/refund-events.ts';
import { createPaymentViews, readTokens, requirePayment } from './views.ts';

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
  { given, open, all, before, limit }: RefundsOptions & { given?: string },
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

/** Adds `payments refunds`. */
export const addRefundsCommand = (payments: Command, context: CommandContext): void => {
  const list = payments
    .command('refunds')
    .summary('list refunds: the open ones, those of a payment, or all')
    .description(
      'Lists the open refunds, oldest first; with a payment, all of its refunds; with --all, those of all payments, ' +
        'newest first.',
    )
    .argument('[payment]', 'its identity, its transaction, or the beginning of either')
    .option('--open', 'only open ones, of this payment too')
    .addOption(new Option('--all', 'also ended ones, of all payments, newest first').conflicts('open'))
    .addOption(
      new Option('--before <refund>', 'of all, only those older than this one: the next page')
        .argParser(readUuid)
        .implies({ all: true }),
    )
    .option('--limit <count>', 'list at most this many', readCount(maxListed), 1_000)
    .action((given: string | undefined, options: RefundsOptions) =>
      context.run(async ({ store, config }) => {
        const { all, limit } = options;
        const { refundJson, refundTable } = createPaymentViews(await readTokens({ config }));
        const found = await findRefunds(store, { ...options, given });
        const listed = found.slice(0, limit);
        const hasMore = found.length > limit;
        const next = all === true ? `, or continue with --before ${listed.at(-1)?.id}` : '.';
        return {
          json: { refunds: listed.map(refundJson), has_more: hasMore },
          text: listed.length === 0 ? 'There are no such refunds.' : refundTable(listed),
          remark: hasMore ? `There are more: raise --limit${next}` : undefined,
        };
      }),
    );
  addExamples(list, [
    'causeway payments refunds --open',
    'causeway payments refunds --all --limit 20',
    'causeway payments refunds 0x5f3c9a1e --json',
  ]);
};

/** Adds `payments cancel-refund`. */
export const addCancelRefundCommand = (payments: Command, context: CommandContext): void => {
  const cancel = payments
    .command('cancel-refund')
    .summary('cancel a refund before anything of it is signed')
    .description(
      'Cancels a planned refund, so that its amount can be refunded in another way. A signed refund cannot be ' +
        'canceled, as it may land at any time.',
    )
    .argument('<refund>', 'id of the refund', readUuid)
    .action((id: string) =>
      context.run(async ({ store, clock, config }) => {
        const { refundJson } = createPaymentViews(await readTokens({ config }));
        const canceled = await moveRefund({ store, clock }, id, 'canceled', { reason: 'canceled' });
        if (canceled !== null)
          return { json: { refund: refundJson(canceled) }, text: `Refund ${id} is canceled.` };
        const { state } = requireFound(await store.getRefund(id), 'refund', id);
        throw new CommandError(
          'refund_conflict',
          `Refund ${id} is ${state} and cannot be canceled any more.`,
        );
      }),
    );
  addExamples(cancel, [`causeway payments cancel-refund ${exampleId}`]);
};
