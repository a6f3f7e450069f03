import type { Engine } from './engine.ts';

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
    created_at ${int64} not null,
    updated_at ${int64} not null,
    check (state = 'planned' or state = 'failed' or raw_transaction is not null)
  )${tableEnd}`,
  `create index payment_refunds_by_payment on payment_refunds (payment, created_at, id)`,
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

/** What keeps x402 payments in order: when to look at one again, refunds, terms that were offered, turns of senders. */
export const paymentUpkeep = (engine: Engine): string[] => [
  ...payments(engine),
  ...refunds(engine),
  ...terms(engine),
];
