import type { Engine } from './engine.ts';

const accounts = ({ int64, id, tableEnd }: Engine): string[] => [
  `create table accounts (
    id ${id} not null primary key,
    name text not null,
    status text not null check (status in ('pending', 'active', 'suspended')),
    status_changed_at ${int64} not null,
    balance ${int64} not null default 0,
    held ${int64} not null default 0,
    created_at ${int64} not null,
    check (held >= 0 and held <= balance)
  )${tableEnd}`,
  `create index accounts_by_age on accounts (created_at, id)`,
  `create table api_keys (
    id ${id} not null primary key,
    account_id ${id} not null references accounts (id),
    hash ${id} not null unique,
    display text not null,
    label text not null,
    created_at ${int64} not null,
    revoked_at ${int64}
  )${tableEnd}`,
  `create index api_keys_by_account on api_keys (account_id, created_at, id)`,
];

const jobs = ({ int64, id, tableEnd }: Engine): string[] => [
  `create table jobs (
    id ${id} not null primary key,
    account_id ${id} not null references accounts (id),
    key_id ${id} not null references api_keys (id),
    kind text not null check (kind in ('chat', 'image', 'responses', 'video')),
    model text not null,
    status text not null check (status in ('queued', 'running', 'done', 'failed')),
    attempts ${int64} not null,
    max_attempts ${int64} not null,
    lease_owner text,
    lease_until ${int64},
    deadline_at ${int64} not null,
    created_at ${int64} not null,
    started_at ${int64},
    finished_at ${int64},
    request text not null,
    custom_data text,
    result text,
    error text,
    metadata text,
    check (attempts >= 0 and attempts <= max_attempts),
    check ((status = 'running') = (lease_owner is not null)),
    check ((status = 'running') = (lease_until is not null)),
    check ((status in ('done', 'failed')) = (finished_at is not null))
  )${tableEnd}`,
  `create index jobs_by_account on jobs (account_id, created_at desc, id desc)`,
  `create index jobs_in_queue on jobs (created_at, id) where status = 'queued'`,
  `create index jobs_in_queue_by_deadline on jobs (deadline_at) where status = 'queued'`,
  `create index jobs_by_lease on jobs (lease_until) where status = 'running'`,
  `create table holds (
    job_id ${id} not null primary key references jobs (id),
    account_id ${id} not null references accounts (id),
    amount ${int64} not null check (amount >= 0),
    state text not null check (state in ('open', 'captured', 'released')),
    captured ${int64} not null default 0,
    refunded ${int64} not null default 0,
    expires_at ${int64} not null,
    ended_at ${int64},
    check (captured >= 0 and captured <= amount),
    check (refunded >= 0 and refunded <= captured),
    check ((state = 'captured') = (captured > 0)),
    check ((state = 'open') = (ended_at is null))
  )${tableEnd}`,
  `create table idempotency_keys (
    account_id ${id} not null references accounts (id),
    endpoint ${id} not null,
    idempotency_key ${id} not null,
    body_hash text not null,
    job_id ${id} not null references jobs (id),
    expires_at ${int64} not null,
    primary key (account_id, endpoint, idempotency_key)
  )${tableEnd}`,
  `create table media (
    id ${id} not null primary key,
    account_id ${id} not null references accounts (id),
    job_id ${id} not null references jobs (id),
    content_type text not null,
    size_bytes ${int64} not null check (size_bytes >= 0),
    created_at ${int64} not null,
    expires_at ${int64} not null
  )${tableEnd}`,
];

const ledger = ({ int64, id, tableEnd }: Engine): string[] => [
  `create table ledger_entries (
    id ${id} not null primary key,
    account_id ${id} not null references accounts (id),
    type text not null check (type in ('topup', 'debit', 'refund', 'adjustment')),
    amount ${int64} not null,
    job_id ${id} references jobs (id),
    note text,
    created_at ${int64} not null,
    check (
      (type = 'topup' and amount > 0 and job_id is null)
      or (type = 'debit' and amount < 0 and job_id is not null)
      or (type = 'refund' and amount > 0 and job_id is not null)
      or (type = 'adjustment' and job_id is null)
    )
  )${tableEnd}`,
  `create index ledger_entries_by_account on ledger_entries (account_id, created_at desc, id desc)`,
  `create unique index ledger_entries_one_debit_per_job on ledger_entries (job_id) where type = 'debit'`,
];

const appendOnly = {
  sqlite: [
    `create trigger ledger_entries_refuse_update before update on ledger_entries
      begin select raise(abort, 'ledger entries are append-only'); end`,
    `create trigger ledger_entries_refuse_delete before delete on ledger_entries
      begin select raise(abort, 'ledger entries are append-only'); end`,
  ],
  postgres: [
    `create function refuse_ledger_change() returns trigger language plpgsql as
      $$ begin raise exception 'ledger entries are append-only'; end $$`,
    `create trigger ledger_entries_refuse_change before update or delete on ledger_entries
      for each row execute function refuse_ledger_change()`,
    `create trigger ledger_entries_refuse_truncate before truncate on ledger_entries
      for each statement execute function refuse_ledger_change()`,
  ],
} satisfies Record<Engine['kind'], string[]>;

const payments = ({ int64, id, tableEnd }: Engine): string[] => [
  `create table payments (
    identity ${id} not null primary key,
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
    result text,
    transaction_id text,
    raw_transaction text,
    receipt text,
    reason text,
    created_at ${int64} not null,
    updated_at ${int64} not null
  )${tableEnd}`,
  `create index payments_by_age on payments (created_at desc, identity desc)`,
  `create index payments_by_state on payments (state, created_at desc, identity desc)`,
];

/** The statements of the first schema, in order. */
export const initial = (engine: Engine): string[] => [
  ...accounts(engine),
  ...jobs(engine),
  ...ledger(engine),
  ...appendOnly[engine.kind],
  ...payments(engine),
];
