import { InvalidArgumentError, Option } from 'commander';
import { findKnownNetwork } from '../../purchases/token-amount.ts';
import { paymentStates } from '../../store/payment-states.ts';
import type { Payment, PaymentState, Store } from '../../store/store.ts';
import { limitOption, type CommandDefinition } from '../command-definition.ts';
import {
  maxRefunds,
  openPaymentViews,
  paymentTable,
  readPayments,
  refundTable,
  requirePayment,
} from './views.ts';

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

type Wanted = Parameters<typeof readPayments>[1];

const readFirst = async (store: Store, wanted: Wanted, limit: number): Promise<Payment[]> => {
  const payments: Payment[] = [];
  for await (const payment of readPayments(store, wanted)) {
    payments.push(payment);
    if (payments.length === limit) break;
  }
  return payments;
};

const newestFirst = (one: Payment, other: Payment): number =>
  other.createdAt - one.createdAt || (one.identity < other.identity ? 1 : -1);

/** Lists payments that should have ended by themselves: with an unknown outcome, or settling for too long. */
const readStuck = async (store: Store, wanted: Wanted, limit: number, now: number): Promise<Payment[]> => {
  const among = (...states: PaymentState[]): PaymentState[] =>
    states.filter((state) => wanted.states?.includes(state) ?? true);
  const settling = { states: among('produced', 'broadcasting'), updatedBefore: now - stuckAfterMs };
  const unknown = await readFirst(store, { ...wanted, states: among('unknown') }, limit);
  return [...unknown, ...(await readFirst(store, { ...wanted, ...settling }, limit))].toSorted(newestFirst);
};

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
    new Option('--network <network>', 'only those on this network, such as base').argParser(readNetwork),
    new Option('--stuck', 'only those that need a look, and open refunds'),
    new Option('--before <payment>', 'only those older than this one: the next page'),
    limitOption(2_000, 100),
  ],
  run: async (session, options) => {
    const { state: states, network, stuck: isStuck, limit } = options;
    const { store, clock } = session;
    const views = await openPaymentViews(session);
    const last = options.before === undefined ? undefined : await requirePayment(store, options.before);
    const before = last && { createdAt: last.createdAt, identity: last.identity };
    const wanted = { states, network, before };
    const found = await (isStuck
      ? readStuck(store, wanted, limit + 1, clock.now())
      : readFirst(store, wanted, limit + 1));
    const payments = found.slice(0, limit);
    const hasMore = found.length > limit;
    const refunds = isStuck ? await store.listRefunds({ payment: null, limit: maxRefunds }) : [];
    return {
      json: {
        payments: payments.map(views.paymentJson),
        ...(isStuck ? { refunds: refunds.map(views.refundJson) } : {}),
        has_more: hasMore,
      },
      text: [
        payments.length === 0 ? 'There are no such payments.' : paymentTable(payments, views),
        ...(refunds.length === 0 ? [] : ['Open refunds:', refundTable(refunds, views)]),
      ].join('\n\n'),
      remark: hasMore
        ? `There are more: raise --limit, or continue with --before ${payments.at(-1)?.identity}`
        : undefined,
    };
  },
};
