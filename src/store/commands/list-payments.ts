import { read, readSteps, run } from '../command.ts';
import { eachOf, statement, valuesOf, type Dialect, type SqlValue } from '../statement.ts';
import { pageValues as historyValues, type Page } from './history-page.ts';
import { listedPayments, payments, type Payment } from './payment-table.ts';
import { paymentStates, type PaymentState } from '../../rules/payments.ts';

/** Finds the payments of a transaction, ordered by identity. Hexadecimal digits of `transaction` must be lower case. */
export const findPaymentsByTransaction = read({
  text: `select ${payments.list()} from payments where transaction_name = $1 order by identity limit $2`,
  values: valuesOf<{ transaction: string; limit: number }>('transaction', 'limit'),
  read: eachOf(payments.read),
});

/** Names of payments are printable ASCII, so every name with a prefix sorts between the prefix and the prefix plus this. */
const afterEveryName = '\u007f';

const beginningBy = (column: 'identity' | 'reference' | 'transaction_name'): string =>
  `select * from (
    select identity from payments where ${column} >= $1 and ${column} < $2 order by ${column} limit $3
  ) as by_${column}`;

/**
 * Finds the payments whose identity, transaction (as above), or part of the identity after the last colon begins with
 * `prefix`. Returns at most `limit` for each of the three; exact matches are always among them. Ordered by identity.
 */
export const findPaymentsByPrefix = read({
  text: `select ${payments.list()} from payments where identity in (
      ${beginningBy('identity')} union ${beginningBy('reference')} union ${beginningBy('transaction_name')}
    )
    order by identity`,
  values: ({ prefix, limit }: { prefix: string; limit: number }) => [prefix, prefix + afterEveryName, limit],
  read: eachOf(payments.read),
});

export type PaymentPosition = Pick<Payment, 'createdAt' | 'identity'>;

interface Filter {
  states?: readonly PaymentState[];
  network?: string;
  updatedBefore?: number;
  before?: PaymentPosition;
  limit: number;
}

const top: PaymentPosition = { createdAt: Number.MAX_SAFE_INTEGER, identity: '' };

const isOld = '(cast($1 as bigint) is null or updated_at < $1)';
const newestFirst = 'order by created_at desc, identity desc limit $4';
const pageValues = ({ updatedBefore, before = top, limit }: Filter): SqlValue[] => [
  updatedBefore ?? null,
  before.createdAt,
  before.identity,
  limit,
];

const listAll = statement({
  text: `select ${listedPayments.list()} from payments
    where ${isOld} and (created_at, identity) < ($2, $3) ${newestFirst}`,
  values: (filter: Filter) => pageValues(filter),
  read: eachOf(listedPayments.read),
});

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
const newestPerState =
  ({ key, wanted }: StateIndex) =>
  ({ kind }: Dialect): string =>
    kind === 'sqlite'
      ? `select ${listedPayments.list()} from json_each($5) as wanted
    cross join payments on identity in (
      select identity from payments
      where ${key} = ${wanted} and (created_at, identity) < ($2, $3) and ${isOld} ${newestFirst}
    )
    ${newestFirst}`
      : `select newest.* from json_array_elements_text(cast($5 as json)) as wanted (value)
    cross join lateral (
      select ${listedPayments.list()} from payments
      where ${key} >= ${wanted} and (${key}, created_at, identity) < (${wanted}, $2, $3) and ${isOld}
      order by ${key} desc, created_at desc, identity desc limit $4
    ) as newest
    ${newestFirst}`;

const statesValue = (states: readonly PaymentState[]): string => JSON.stringify([...new Set(states)]);

const listInStates = statement({
  text: newestPerState(ofState),
  values: (filter: Filter & { states: readonly PaymentState[] }) => [
    ...pageValues(filter),
    statesValue(filter.states),
  ],
  read: eachOf(listedPayments.read),
});

/** Without `states` it takes all states, so that one index serves both cases. */
const listOfNetwork = statement({
  text: newestPerState(ofNetworkAndState),
  values: (filter: Filter & { network: string }) => [
    ...pageValues(filter),
    statesValue(filter.states ?? paymentStates),
    filter.network,
  ],
  read: eachOf(listedPayments.read),
});

/** By `createdAt`, then identity, both descending, after `before`. Each filter has a statement with its own index. */
export const listPayments = readSteps((filter: Filter) => {
  const { states, network } = filter;
  if (network !== undefined) return run(listOfNetwork, { ...filter, network });
  return states === undefined ? run(listAll, filter) : run(listInStates, { ...filter, states });
});

export interface PurchasePage extends Page {
  /** The wallet that owns the account; null for none. `networks`: CAIP-2, those on which it pays for this account. */
  wallet: { payer: string; networks: readonly string[] } | null;
}

const older = '(created_at, identity) < ($2, $3)';
/** Nothing was paid in the other states. */
const isBought = `state in ('broadcasting', 'unknown', 'settled', 'delivered')`;

/**
 * Lists the payments that raised the account's balance, and those of its wallet that bought answers, which need no
 * account. By `createdAt`, then identity, both descending, after the position `before`.
 */
export const listPurchases = read({
  text: ({ isOneOf }) => `select ${payments.list()} from payments where identity in (
      select identity from (
        select identity from payments where account_id = $1 and ${older} and ${isBought} ${newestFirst}
      ) as by_account union select identity from (
        select identity from payments
        where lower(payer) = lower(cast($5 as text)) and payer is not null and credit is null
          and (payer = $5 or network like 'eip155:%') and ${isOneOf('network', '$6')} and ${older} and ${isBought} ${newestFirst}
      ) as by_payer
    )
    ${newestFirst}`,
  values: ({ wallet, ...page }: PurchasePage) => [
    ...historyValues(page),
    wallet?.payer ?? null,
    JSON.stringify(wallet?.networks ?? []),
  ],
  read: eachOf(payments.read),
});
