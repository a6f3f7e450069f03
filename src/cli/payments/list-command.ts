import { InvalidArgumentError, Option, type Command } from 'commander';
import { toIso } from '../../kit/clock.ts';
import { findKnownNetwork } from '../../purchases/token-amount.ts';
import { paymentStates } from '../../store/payment-states.ts';
import type { Payment, PaymentPosition, PaymentState, Store } from '../../store/store.ts';
import type { CommandContext } from '../command-context.ts';
import { addExamples } from '../examples.ts';
import { formatTable } from '../format-table.ts';
import { requirePayment } from './find.ts';
import { tellPayment } from './story.ts';
import { readTokens } from './tokens.ts';
import { createPaymentViews, type PaymentViews } from './views.ts';
import { readCount } from '../read-text.ts';

const maxListed = 2_000;
const pageSize = 200;
const maxRefunds = 1_000;
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

/** Page by page, so that no read of the store is a large one. */
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

const byAge = (one: Payment, other: Payment): number =>
  other.createdAt - one.createdAt || (one.identity < other.identity ? 1 : -1);

/** What should have come to an end by itself: an unknown outcome, or a settlement that takes too long. */
const listStuck = async (store: Store, wanted: Wanted, now: number): Promise<Listed> => {
  const among = (states: readonly PaymentState[]): PaymentState[] =>
    states.filter((state) => wanted.states === undefined || wanted.states.includes(state));
  const found = [
    await listPayments(store, { ...wanted, states: among(['unknown']) }),
    await listPayments(store, {
      ...wanted,
      states: among(['produced', 'broadcasting']),
      updatedBefore: now - stuckAfterMs,
    }),
  ];
  const stuck = found.flatMap(({ payments }) => payments).toSorted(byAge);
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
      'Lists payments, newest first. With --stuck, those that should have come to an end: of unknown outcome, or in ' +
        'the middle of a settlement for more than 15 minutes; and the refunds that have no end yet.',
    )
    .addOption(new Option('--state <state...>', 'only those in these states').choices(paymentStates))
    .option('--network <network>', 'only those on this network, such as base', readNetwork)
    .option('--stuck', 'only those that need a look, and open refunds')
    .option('--before <payment>', 'only those older than this one: the page after the one that it ended')
    .option('--limit <count>', 'list at most this many', readCount(maxListed), 100)
    .action(({ state, network, stuck, before, limit }: ListOptions) =>
      context.run(async ({ store, clock, config }) => {
        const views = createPaymentViews(await readTokens({ config }));
        const wanted = {
          states: state,
          network,
          before: before === undefined ? undefined : positionOf(await requirePayment(store, before)),
          limit,
        };
        const { payments, hasMore } = await (stuck === true
          ? listStuck(store, wanted, clock.now())
          : listPayments(store, wanted));
        const refunds = stuck === true ? await store.listRefunds({ payment: null, limit: maxRefunds }) : [];
        return {
          json: {
            payments: payments.map(views.paymentJson),
            ...(stuck === true ? { refunds: refunds.map(views.refundJson) } : {}),
            has_more: hasMore,
          },
          text: [
            payments.length === 0 ? 'There are no such payments.' : views.paymentTable(payments),
            ...(refunds.length === 0 ? [] : ['Refunds without an end:', views.refundTable(refunds)]),
          ].join('\n\n'),
          ...(hasMore
            ? { remark: `There are more: raise --limit, or go on with --before ${payments.at(-1)?.identity}` }
            : {}),
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

const factsOf = (payment: Payment, { amountText }: PaymentViews): [string, string][] => [
  ['payment', payment.identity],
  ['state', payment.state],
  ['amount', amountText(payment)],
  ['network', payment.network],
  ['asset', payment.asset],
  ['payer', payment.payer ?? '-'],
  ['paid to', payment.payTo],
  ['transaction', payment.transaction ?? '-'],
  ['reason', payment.reason ?? '-'],
  ['facilitator', payment.facilitator ?? '-'],
  ['payment id', payment.paymentId ?? '-'],
  ['created', toIso(payment.createdAt)],
  ['changed', toIso(payment.updatedAt)],
  ['settled', payment.settledAt === null ? '-' : toIso(payment.settledAt)],
  ['next look', payment.checkAt === null ? '-' : toIso(payment.checkAt)],
  ['worked on until', payment.leaseUntil === null ? '-' : toIso(payment.leaseUntil)],
  ['stored answer', payment.result === null ? '-' : `${Buffer.byteLength(payment.result)} bytes`],
];

const isoOrNull = (epochMs: number | null): string | null => (epochMs === null ? null : toIso(epochMs));

/** Adds `payments show`. */
export const addShowCommand = (payments: Command, context: CommandContext): void => {
  const show = payments
    .command('show')
    .summary('show a payment, what happened to it, and its refunds')
    .description(
      'Shows all that is known of a payment but its proof and what was sold, says what happened and what can be done, ' +
        'and lists its refunds.',
    )
    .argument(
      '<payment>',
      'its identity, its transaction, or the beginning of either, as "payments list" shows it',
    )
    .action((given: string) =>
      context.run(async ({ store, clock, config }) => {
        const views = createPaymentViews(await readTokens({ config }));
        const payment = await requirePayment(store, given);
        const refunds = await store.listRefunds({ payment: payment.identity, limit: maxRefunds });
        const { happened, advice } = tellPayment(payment, clock.now());
        return {
          json: {
            payment: {
              ...views.paymentJson(payment),
              check_at: isoOrNull(payment.checkAt),
              lease_until: isoOrNull(payment.leaseUntil),
              terms: JSON.parse(payment.requirements),
              result_bytes: payment.result === null ? null : Buffer.byteLength(payment.result),
            },
            refunds: refunds.map(views.refundJson),
            happened,
            advice,
          },
          text: [
            formatTable(
              [{ title: 'FIELD' }, { title: 'VALUE' }],
              factsOf(payment, views).map((fact) => [...fact]),
            ),
            `${happened}\n${advice}`,
            refunds.length === 0 ? 'Nothing of it was given back.' : views.refundTable(refunds),
          ].join('\n\n'),
        };
      }),
    );
  addExamples(show, [
    'causeway payments show 0x5f3c9a1e',
    'causeway payments show 0x5f3c9a1e --json | jq .advice',
  ]);
};
