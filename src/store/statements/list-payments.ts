import type { CommandInput } from '../commands.ts';
import { paymentStates } from '../payment-states.ts';
import { paymentColumns, toPayment, type PaymentRow, type SqlValue } from '../rows.ts';
import type { Payment, PaymentPosition, PaymentState } from '../store.ts';
import { eachOf, type Dialect, type Statement } from './statement.ts';

type ListInput = CommandInput<'listPayments'>;
type ListStatement<Input = ListInput> = Statement<Input, PaymentRow, Payment[]>;

/** Above every possible position. */
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

/** The first column of an index on `created_at` and `identity`, and its value for a wanted state. */
interface StateIndex {
  key: string;
  wanted: string;
}

const ofState: StateIndex = { key: 'state', wanted: 'wanted.value' };
const ofNetworkAndState: StateIndex = {
  key: `(network || ' ' || state)`,
  wanted: `(cast($6 as text) || ' ' || wanted.value)`,
};

/**
 * Takes the newest of each state (`$5`, a JSON array) by this index, then the newest of these, so rare states are found
 * as fast as common ones. The form steers the planners. SQLite would read all states, so it is asked for the identities
 * of each. PostgreSQL would search all payments by age for a state that it thinks common; the order by `key` prevents
 * that, as long as `key` may have more than one value.
 */
const newestPerState = ({ key, wanted }: StateIndex): Record<Dialect['kind'], string> => ({
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
  text: ({ kind }) => newestPerState(ofState)[kind],
  values: (input) => [...pageValues(input), statesValue(input.states)],
  read: eachOf(toPayment),
};

/** Without `states` it takes all states, so that one index serves both cases. */
const ofNetwork: ListStatement<ListInput & { network: string }> = {
  name: 'list_payments_of_network',
  text: ({ kind }) => newestPerState(ofNetworkAndState)[kind],
  values: (input) => [...pageValues(input), statesValue(input.states ?? paymentStates), input.network],
  read: eachOf(toPayment),
};

/** The statements that list payments, each with its own index. */
export const paymentLists = { all, inStates, ofNetwork };

type ListRuns<Output> = {
  [N in keyof typeof paymentLists]: (input: Parameters<(typeof paymentLists)[N]['values']>[0]) => Output;
};

/** Chooses the statement by the filters. */
export const listPaymentsBy =
  <Output>(runs: ListRuns<Output>) =>
  (input: ListInput): Output => {
    const { states, network } = input;
    if (network !== undefined) return runs.ofNetwork({ ...input, network });
    return states === undefined ? runs.all(input) : runs.inStates({ ...input, states });
  };
