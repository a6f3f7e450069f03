import { InvalidArgumentError, Option, type Command } from 'commander';
import { findKnownNetwork } from '../../purchases/token-amount.ts';
import { paymentStates } from '../../store/payment-states.ts';
import type { Payment, PaymentPosition, PaymentState, Store } from '../../store/store.ts';
import type { CommandContext } from '../command-context.ts';
import { addExamples } from '../examples.ts';
import { readCount } from '../read-arguments.ts';
import { createPaymentViews, maxRefunds, readTokens, requirePayment } from './views.ts';

const maxListed = 2_000;
const pageSize = 200;
const stuckAfterMs = 15 * 60_000;

const readNetwork = (text: string): string => {
  const network = findKnownNetwork(text);
  if (network === null)
    throw new InvalidArgumentError('Write the name of a network, such as base or eip155:8453.');
  return network.id;
};

interface ListOptions {
  state?: PaymentState[];
  network?: string;
  stuck?: true;
  before?: string;
  limit: number;
}

type Wanted = Parameters<Store['listPayments']>[0];

interface Listed {
  payments: Payment[];
  hasMore: boolean;
}

const positionOf = ({ createdAt, identity }: Payment): PaymentPosition => ({ createdAt, identity });

/** Reads page by page, so that no read of the store is large. */
const listPayments = async (store: Store, wanted: Wanted): Promise<Listed> => {
  const payments: Payment[] = [];
  for (;;) {
    const limit = Math.min(pageSize, wanted.limit + 1 - payments.length);
    const last = payments.at(-1);
    const before = last === undefined ? wanted.before : positionOf(last);
    const page = await store.listPayments({ ...wanted, before, limit });
    payments.push(...page);
    if (payments.length > wanted.limit) return { payments: payments.slice(0, wanted.limit), hasMore: true };
    if (page.length < limit) return { payments, hasMore: false };
  }
};

const newestFirst = (one: Payment, other: Payment): number =>
  other.createdAt - one.createdAt || (one.identity < other.identity ? 1 : -1);

/** Lists payments that should have ended by themselves: with an unknown outcome, or settling for too long. */
const listStuck = async (store: Store, wanted: Wanted, now: number): Promise<Listed> => {
  const among = (...states: PaymentState[]): PaymentState[] =>
    states.filter((state) => wanted.states?.includes(state) ?? true);
  const settling = { states: among('produced', 'broadcasting'), updatedBefore: now - stuckAfterMs };
  const found = [
    await listPayments(store, { ...wanted, states: among('unknown') }),
    await listPayments(store, { ...wanted, ...settling }),
  ];
  const stuck = found.flatMap(({ payments }) => payments).toSorted(newestFirst);
  return {
    payments: stuck.slice(0, wanted.limit),
    hasMore: stuck.length > wanted.limit || found.some(({ hasMore }) => hasMore),
  };
};

/** Adds `payments list`. */
export const addListCommand = (payments: Command, context: CommandContext): void => {
  const list = payments
    .command('list')
    .summary('list payments')
    .description(
      'Lists payments, newest first. With --stuck, only payments that should have ended, because their outcome is ' +
        'unknown or they have been settling for more than 15 minutes; and the open refunds.',
    )
    .addOption(new Option('--state <state...>', 'only those in these states').choices(paymentStates))
    .option('--network <network>', 'only those on this network, such as base', readNetwork)
    .option('--stuck', 'only those that need a look, and open refunds')
    .option('--before <payment>', 'only those older than this one: the next page')
    .option('--limit <count>', 'list at most this many', readCount(maxListed), 100)
    .action(({ state, network, stuck: isStuck, before, limit }: ListOptions) =>
      context.run(async ({ store, clock, config }) => {
        const views = createPaymentViews(await readTokens({ config }));
        const wanted = {
          states: state,
          network,
          before: before === undefined ? undefined : positionOf(await requirePayment(store, before)),
          limit,
        };
        const { payments, hasMore } = await (isStuck
          ? listStuck(store, wanted, clock.now())
          : listPayments(store, wanted));
        const refunds = isStuck ? await store.listRefunds({ payment: null, limit: maxRefunds }) : [];
        return {
          json: {
            payments: payments.map(views.paymentJson),
            ...(isStuck ? { refunds: refunds.map(views.refundJson) } : {}),
            has_more: hasMore,
          },
          text: [
            payments.length === 0 ? 'There are no such payments.' : views.paymentTable(payments),
            ...(refunds.length === 0 ? [] : ['Open refunds:', views.refundTable(refunds)]),
          ].join('\n\n'),
          remark: hasMore
            ? `There are more: raise --limit, or continue with --before ${payments.at(-1)?.identity}`
            : undefined,
        };
      }),
    );
  addExamples(list, [
    'causeway payments list',
    'causeway payments list --stuck',
    'causeway payments list --state unknown broadcasting --network base --json',
    'causeway payments list --before 0x5f3c9a1e',
  ]);
};
