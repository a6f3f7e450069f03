import type { Engine } from '../engine.ts';

/** The text after the last colon: the nonce on EVM, the hash of the message on Solana. */
const ownPart = `substr(identity, length(rtrim(identity, replace(identity, ':', ''))) + 1)`;

/** EVM hashes may be in either case; Solana signatures are case-sensitive. */
const oneCase = `case when substr(transaction_id, 1, 2) in ('0x', '0X') then lower(transaction_id) else transaction_id end`;

/** In SQLite the index of a virtual column stores its values. PostgreSQL indexes stored ones alone. */
const kept = { sqlite: 'virtual', postgres: 'stored' } satisfies Record<Engine['kind'], string>;

/**
 * The fields are described in `commands/payment-table.ts`. `call_claim`: operation and idempotency key of the call for
 * which a payment is about to be settled, until the job is opened: of two payments for one call that come at the same
 * moment, one is settled. Look-ups find `reference` and `transaction_name` also by a prefix.
 */
const paymentTable = ({ kind, int64, id, tableEnd }: Engine): string =>
  `create table payments (
    identity ${id} not null primary key,
    reference ${id} generated always as (${ownPart}) ${kept[kind]},
    payment_id text,
    request_hash text not null,
    network text not null,
    asset text not null,
    pay_to text not null,
    amount ${int64} not null check (amount >= 0),
    payload text not null,
    requirements text not null,
    lease_owner text,
    lease_until ${int64},
    state text not null check (state in (
      'reserved', 'verified', 'produced', 'broadcasting', 'settled', 'delivered', 'rejected', 'failed', 'unknown'
    )),
    payer text,
    source ${id},
    client ${id},
    result text,
    facilitator text,
    transaction_id text,
    transaction_name ${id} generated always as (${oneCase}) ${kept[kind]},
    raw_transaction text,
    reverts ${int64} not null default 0,
    receipt text,
    reason text,
    settled_amount ${int64} check (settled_amount between 1 and amount),
    refunded ${int64} not null default 0,
    account_id ${id} references accounts (id),
    credit ${int64} check (credit > 0),
    credit_entry ${id},
    credited ${int64} not null default 0 check (credited >= 0),
    call_claim ${id},
    job_id ${id} references jobs (id),
    check_at ${int64},
    settled_at ${int64},
    created_at ${int64} not null,
    updated_at ${int64} not null
  )${tableEnd}`;

/** All columns of an index sort in one direction, so that a page can begin at any row. */
const paymentIndexes = [
  `create index payments_by_age on payments (created_at desc, identity desc)`,
  `create index payments_by_state on payments (state, created_at, identity)`,
  `create index payments_by_network on payments ((network || ' ' || state), created_at, identity)`,
  `create index payments_by_settlement on payments (settled_at, identity) where settled_at is not null`,
  `create index payments_by_change on payments (state, updated_at)`,
  `create index payments_with_answer on payments (state, updated_at) where result is not null`,
  `create index payments_to_check on payments (check_at) where check_at is not null`,
  `create index payments_by_reference on payments (reference)`,
  `create index payments_by_transaction on payments (transaction_name) where transaction_name is not null`,
  `create unique index payments_by_payment_id on payments (payment_id) where payment_id is not null`,
  `create index payments_by_account on payments (account_id, created_at desc, identity desc)
    where account_id is not null`,
  `create index payments_by_payer on payments (lower(payer), created_at desc, identity desc)
    where payer is not null and credit is null`,
  `create unique index payments_one_per_job on payments (job_id) where job_id is not null`,
  `create unique index payments_one_per_call on payments (account_id, call_claim) where call_claim is not null`,
  `create index payments_open_of_source on payments (source, network, asset)
    where state in ('verified', 'produced', 'broadcasting', 'unknown')`,
  `create index payments_made_of_source on payments (source) where state in ('settled', 'delivered')`,
  `create index payments_reverted_of_source on payments (source, network) where reverts > 0`,
  `create index payments_failed_upto on payments (updated_at, source)
    where state = 'failed' and settled_amount is not null`,
  `create index payments_with_client on payments (updated_at) where client is not null`,
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

/** The terms that were offered, and the leases to send from an account. */
const termsAndTurns = ({ int64, id, tableEnd }: Engine): string[] => [
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

/** Payments to upstreams (`commands/bought-payments.ts`). `bought_days`: the sums of these days. */
const upstreamPayments = ({ int64, id, tableEnd }: Engine): string[] => [
  `create table bought_payments (
    identity ${id} not null primary key,
    request ${id} not null,
    upstream ${id} not null,
    operation ${id} not null,
    job_id ${id},
    sold_payment ${id},
    network text not null,
    asset text not null,
    pay_to text not null,
    amount ${int64} not null check (amount > 0),
    price ${int64} not null check (price > 0),
    day ${id} not null,
    payload text not null,
    requirements text not null,
    state text not null check (state in ('sent', 'answered', 'lost', 'unused')),
    transaction_id text,
    reason text,
    lease_until ${int64} not null,
    check_at ${int64},
    created_at ${int64} not null,
    updated_at ${int64} not null
  )${tableEnd}`,
  `create unique index bought_payments_of_jobs on bought_payments (request)
    where job_id is not null and operation <> 'search' and state <> 'unused'`,
  `create index bought_payments_by_request on bought_payments (request, created_at)`,
  `create index bought_payments_to_check on bought_payments (check_at) where check_at is not null`,
  `create index bought_payments_by_job on bought_payments (job_id) where job_id is not null`,
  `create index bought_payments_by_time on bought_payments (created_at, identity)`,
  `create table bought_days (
    upstream ${id} not null,
    day ${id} not null,
    spent ${int64} not null check (spent >= 0),
    primary key (upstream, day)
  )${tableEnd}`,
];

/** Payments by x402, their refunds, what their settlement needs, and payments to upstreams. */
export const payments = (engine: Engine): string[] => [
  paymentTable(engine),
  ...paymentIndexes,
  ...refunds(engine),
  ...termsAndTurns(engine),
  ...upstreamPayments(engine),
];
