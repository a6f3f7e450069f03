import type { CommandInput } from '../commands.ts';
import { paymentStates } from '../payment-states.ts';
import { paymentColumns, toPayment, type PaymentRow, type SqlValue } from '../rows.ts';
import type { Payment, PaymentPosition, PaymentState } from '../store.ts';
import { eachOf, type Dialect, type Statement } from './statement.ts';

type ListInput = CommandInput<'listPayments'>;
type ListStatement<Input = ListInput> = Statement<Input, PaymentRow, Payment[]>;

/** Above every position that can be. */
const top: PaymentPosition = { createdAt: Number.MAX_SAFE_INTEGER, identity: '' };

const isOld = '(cast($1 as bigint) is null or updated_at < $1)';
const newestFirst = 'order by created_at desc, identity desc limit $4';
const pageValues = ({ updatedBefore, before = top, limit }: ListInput): SqlValue[] => [
  updatedBefore ?? null,
  before.createdAt,
  before.identity,
  limit,
];

const all: ListStatement = {
  name: 'list_all_payments',
  text: () => `select ${paymentColumns} from payments
    where ${isOld} and (created_at, identity) < ($2, $3) ${newestFirst}`,
  values: pageValues,
  read: eachOf(toPayment),
};

/** What an index on `created_at` and `identity` begins with, and what that must be for a wanted state. */
interface Shelf {
  key: string;
  wanted: string;
}

const ofState: Shelf = { key: 'state', wanted: 'wanted.value' };
const ofNetworkAndState: Shelf = {
  key: `(network || ' ' || state)`,
  wanted: `(cast($6 as text) || ' ' || wanted.value)`,
};

/**
 * The newest of each state, a JSON array in `$5`, by the index of the shelf, then the newest of these: rare states are
 * found as fast as common ones. The engines have to be led there. SQLite would read all of the states; it is asked for
 * the identities of each. PostgreSQL would look for a state that it thinks common through all payments by age; only the
 * index of the shelf has them in an order that begins with the shelf, as long as that may have more than one value.
 */
const newestOnShelves = ({ key, wanted }: Shelf): Record<Dialect['kind'], string> => ({
  sqlite: `select ${paymentColumns} from json_each($5) as wanted
    cross join payments on identity in (
      select identity from payments
      where ${key} = ${wanted} and (created_at, identity) < ($2, $3) and ${isOld} ${newestFirst}
    )
    ${newestFirst}`,
  postgres: `select newest.* from json_array_elements_text(cast($5 as json)) as wanted (value)
    cross join lateral (
      select ${paymentColumns} from payments
      where ${key} >= ${wanted} and (${key}, created_at, identity) < (${wanted}, $2, $3) and ${isOld}
      order by ${key} desc, created_at desc, identity desc limit $4
    ) as newest
    ${newestFirst}`,
});

const statesValue = (states: readonly PaymentState[]): string => JSON.stringify([...new Set(states)]);

const inStates: ListStatement<ListInput & { states: readonly PaymentState[] }> = {
  name: 'list_payments_in_states',
  text: ({ kind }) => newestOnShelves(ofState)[kind],
  values: (input) => [...pageValues(input), statesValue(input.states)],
  read: eachOf(toPayment),
};

/** Without `states`, of all of them: one index serves a network with and without. */
const ofNetwork: ListStatement<ListInput & { network: string }> = {
  name: 'list_payments_of_network',
  text: ({ kind }) => newestOnShelves(ofNetworkAndState)[kind],
  values: (input) => [...pageValues(input), statesValue(input.states ?? paymentStates), input.network],
  read: eachOf(toPayment),
};

/** The ways to list payments, each with an index of its own. */
export const paymentLists = { all, inStates, ofNetwork };

type ListRuns<Output> = {
  [N in keyof typeof paymentLists]: (input: Parameters<(typeof paymentLists)[N]['values']>[0]) => Output;
};

/** Picks the way that the filters ask for. */
export const listPaymentsBy =
  <Output>(runs: ListRuns<Output>) =>
  (input: ListInput): Output => {
    const { states, network } = input;
    if (network !== undefined) return runs.ofNetwork({ ...input, network });
    return states === undefined ? runs.all(input) : runs.inStates({ ...input, states });
  };
