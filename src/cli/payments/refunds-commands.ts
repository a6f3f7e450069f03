import { Option, type Command } from 'commander';
import type { PaymentRefund, Store } from '../../store/store.ts';
import type { CommandContext } from '../command-context.ts';
import { CommandError } from '../command-error.ts';
import { addExamples, exampleId } from '../examples.ts';
import { requirePayment } from './find.ts';
import { readTokens } from './tokens.ts';
import { createPaymentViews } from './views.ts';
import { readCount, readUuid } from '../read-text.ts';

const maxListed = 10_000;

interface RefundsOptions {
  open?: true;
  all?: true;
  before?: string;
  limit: number;
}

/** Throws CommandError. */
const requireRefund = async (store: Store, id: string): Promise<PaymentRefund> => {
  const refund = await store.getRefund(id);
  if (refund === null) throw new CommandError('refund_not_found', `There is no refund ${id}.`);
  return refund;
};

const isOpen = ({ state }: PaymentRefund): boolean => state === 'planned' || state === 'sending';

/** One more than `limit`, where there is one. Throws CommandError. */
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
  const last = before === undefined ? null : await requireRefund(store, before);
  return store.listNewestRefunds({
    before: last === null ? null : { createdAt: last.createdAt, id: last.id },
    limit: limit + 1,
  });
};

/** Adds `payments refunds`. */
export const addRefundsCommand = (payments: Command, context: CommandContext): void => {
  const list = payments
    .command('refunds')
    .summary('list refunds: those without an end, those of a payment, or all')
    .description(
      'Lists the refunds that have no end yet, in the order of their making; with a payment, all of its refunds; with ' +
        '--all, those of all payments, newest first.',
    )
    .argument('[payment]', 'its identity, its transaction, or the beginning of either')
    .option('--open', 'only those without an end, of this payment too')
    .addOption(new Option('--all', 'those that ended, too, of all payments, newest first').conflicts('open'))
    .addOption(
      new Option(
        '--before <refund>',
        'of all, only those older than this one: the page after the one that it ended',
      )
        .argParser(readUuid)
        .implies({ all: true }),
    )
    .option('--limit <count>', 'list at most this many', readCount(maxListed), 1_000)
    .action((given: string | undefined, { open, all, before, limit }: RefundsOptions) =>
      context.run(async ({ store, config }) => {
        const { refundJson, refundTable } = createPaymentViews(await readTokens({ config }));
        const found = await findRefunds(store, { given, open, all, before, limit });
        const listed = found.slice(0, limit);
        const hasMore = found.length > limit;
        const goOn = all === true ? `, or go on with --before ${listed.at(-1)?.id}` : '.';
        return {
          json: { refunds: listed.map(refundJson), has_more: hasMore },
          text: listed.length === 0 ? 'There are no such refunds.' : refundTable(listed),
          ...(hasMore ? { remark: `There are more: raise --limit${goOn}` } : {}),
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
    .summary('give up a refund for which nothing was signed')
    .description(
      'Gives up a planned refund, so that its amount can be given back otherwise. One that is signed cannot be given ' +
        'up: it may land at any time.',
    )
    .argument('<refund>', 'id of the refund', readUuid)
    .action((id: string) =>
      context.run(async ({ store, clock, config }) => {
        const { refundJson } = createPaymentViews(await readTokens({ config }));
        const canceled = await store.advanceRefund({
          id,
          from: ['planned'],
          to: 'failed',
          set: { reason: 'canceled' },
          now: clock.now(),
        });
        if (canceled !== null)
          return { json: { refund: refundJson(canceled) }, text: `Refund ${id} is given up.` };
        const refund = await requireRefund(store, id);
        throw new CommandError(
          'refund_conflict',
          `Refund ${id} is ${refund.state}, and cannot be given up any more.`,
        );
      }),
    );
  addExamples(cancel, [`causeway payments cancel-refund ${exampleId}`]);
};
