import type { Engine } from './engine.ts';

/** The text after the last colon: the nonce on EVM, the hash of the message on Solana. */
const ownPart = `substr(identity, length(rtrim(identity, replace(identity, ':', ''))) + 1)`;

/** EVM hashes may be in either case; Solana signatures are case-sensitive. */
const oneCase = `case when substr(transaction_id, 1, 2) in ('0x', '0X') then lower(transaction_id) else transaction_id end`;

/** SQLite cannot add a stored column to an existing table. The index of a virtual column stores its values. */
const kept = { sqlite: 'virtual', postgres: 'stored' } satisfies Record<Engine['kind'], string>;

/** Columns for look-ups of payments; `reference` and `transaction_name` also by prefix. */
const paymentNames = ({ kind, id }: Engine): string[] => [
  `alter table payments add column reference ${id} generated always as (${ownPart}) ${kept[kind]}`,
  `alter table payments add column transaction_name ${id} generated always as (${oneCase}) ${kept[kind]}`,
  `create index payments_by_reference on payments (reference)`,
  `create index payments_by_transaction on payments (transaction_name) where transaction_name is not null`,
];

/** All columns sort in one direction, so that a page can begin at any row. */
const paymentLists = [
  `drop index payments_by_state`,
  `create index payments_by_state on payments (state, created_at, identity)`,
  `create index payments_by_network on payments ((network || ' ' || state), created_at, identity)`,
];

const payments = ({ int64 }: Engine): string[] => [
  `alter table payments add column check_at ${int64}`,
  `alter table payments add column facilitator text`,
  `alter table payments add column payment_id text`,
  `alter table payments add column settled_at ${int64}`,
  `alter table payments add column refunded ${int64} not null default 0`,
  `update payments set check_at = updated_at where state in ('reserved', 'verified', 'produced', 'broadcasting', 'unknown')`,
  `update payments set settled_at = updated_at where state in ('settled', 'delivered')`,
  `create index payments_to_check on payments (check_at) where check_at is not null`,
  `create unique index payments_by_payment_id on payments (payment_id) where payment_id is not null`,
  `create index payments_by_settlement on payments (settled_at, identity) where settled_at is not null`,
  `create index payments_by_change on payments (state, updated_at)`,
  `create index payments_with_answer on payments (state, updated_at) where result is not null`,
];

const refunds = ({ int64, id, tableEnd }: Engine): string[] => [
  `create table payment_refunds (
    id ${id} not null primary key,
    payment ${id} not null references payments (identity),
    network text not null,
    asset text not null,
    recipient text not null,
    amount ${int64} not null check (amount > 0),
    state text not null check (state in ('planned', 'sending', 'settled', 'failed')),
    sender text,
    transaction_id text,
    raw_transaction text,
    reason text,
    note text,
    accepts_unknown ${int64} not null default 0,
    created_at ${int64} not null,
    updated_at ${int64} not null,
    check (state = 'planned' or state = 'failed' or raw_transaction is not null)
  )${tableEnd}`,
  `create index payment_refunds_by_payment on payment_refunds (payment, created_at, id)`,
  `create index payment_refunds_by_age on payment_refunds (created_at desc, id desc)`,
  `create index payment_refunds_open on payment_refunds (created_at, id) where state in ('planned', 'sending')`,
  `create index payment_refunds_settled on payment_refunds (updated_at) where state = 'settled'`,
];

const terms = ({ int64, id, tableEnd }: Engine): string[] => [
  `create table offered_terms (
    fingerprint ${id} not null primary key,
    terms text not null,
    offered_at ${int64} not null
  )${tableEnd}`,
  `create table sender_turns (
    sender ${id} not null primary key,
    owner text not null,
    until ${int64} not null
  )${tableEnd}`,
];

/** Upkeep of x402 payments: times of checks, look-ups, refunds, offered terms, leases to send from an account. */
export const paymentUpkeep = (engine: Engine): string[] => [
  ...payments(engine),
  ...paymentNames(engine),
  ...paymentLists,
  ...refunds(engine),
  ...terms(engine),
];
