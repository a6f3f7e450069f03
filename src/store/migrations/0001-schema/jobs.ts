import type { Engine } from '../engine.ts';

/** `turn` orders a queue so that accounts take turns. */
const jobTable = ({ int64, id, tableEnd }: Engine): string[] => [
  `create table jobs (
    id ${id} not null primary key,
    account_id ${id} not null references accounts (id),
    key_id ${id} not null references api_keys (id),
    kind text not null check (kind in ('chat', 'image', 'responses', 'search', 'tool', 'video')),
    model text not null,
    status text not null check (status in ('queued', 'running', 'done', 'failed')),
    progress ${int64} not null default 0 check (progress between 0 and 100),
    attempts ${int64} not null,
    max_attempts ${int64} not null,
    lease_owner text,
    lease_until ${int64},
    turn ${int64},
    deadline_at ${int64} not null,
    created_at ${int64} not null,
    started_at ${int64},
    finished_at ${int64},
    request text not null,
    parameters text,
    custom_data text,
    provider_task text,
    result text,
    error text,
    metadata text,
    webhook_url text,
    usage_tag text,
    check (attempts >= 0 and attempts <= max_attempts),
    check ((status = 'running') = (lease_owner is not null)),
    check ((status = 'running') = (lease_until is not null)),
    check ((status in ('done', 'failed')) = (finished_at is not null))
  )${tableEnd}`,
  `create index jobs_by_account on jobs (account_id, created_at desc, id desc)`,
  `create index jobs_by_age on jobs (created_at desc, id desc)`,
  `create index jobs_failed on jobs (created_at desc, id desc) where status = 'failed'`,
  `create index jobs_of_account_failed on jobs (account_id, created_at desc, id desc) where status = 'failed'`,
  `create index jobs_in_queue on jobs (kind, turn, id) where status = 'queued'`,
  `create index jobs_of_account_in_queue on jobs (account_id, kind, turn) where status = 'queued'`,
  `create index jobs_in_queue_by_deadline on jobs (deadline_at) where status = 'queued'`,
  `create index jobs_active on jobs (account_id, kind) where status in ('queued', 'running')`,
  `create index jobs_with_brief_results on jobs (finished_at) where kind in ('search', 'tool') and result is not null`,
  `create index tool_jobs_by_age on jobs (created_at) where kind = 'tool'`,
  `create index jobs_by_lease on jobs (lease_until) where status = 'running'`,
];

/**
 * `budgeted`: 1 for a hold that counts in the use of its key. `payment`: the payment that pays for the job when it has
 * ended, in place of the balance; `debited`: 0 as long as that has not been settled and debited. `cost`: what the operator pays
 * for the job; null: unknown.
 */
const holds = ({ int64, id, tableEnd }: Engine): string[] => [
  `create table holds (
    job_id ${id} not null primary key references jobs (id),
    account_id ${id} not null references accounts (id),
    amount ${int64} not null check (amount >= 0),
    state text not null check (state in ('open', 'captured', 'released')),
    captured ${int64} not null default 0,
    refunded ${int64} not null default 0,
    budgeted ${int64},
    payment ${id},
    debited ${int64},
    cost ${int64},
    expires_at ${int64} not null,
    ended_at ${int64},
    check (captured >= 0 and captured <= amount),
    check (refunded >= 0 and refunded <= captured),
    check ((state = 'captured') = (captured > 0)),
    check ((state = 'open') = (ended_at is null)),
    check ((debited is null) = (payment is null))
  )${tableEnd}`,
  `create index holds_by_payment on holds (payment) where payment is not null`,
  `create index holds_owed on holds (account_id) where debited = 0 and state = 'captured'`,
];

/**
 * Sums of the jobs that have ended, written with each end and each refund. `day`: the whole days from 1970-01-01 UTC to the
 * day on which the jobs were created. `tag`: empty for none. `cost`: of the jobs whose cost is known; `uncosted` jobs were
 * done at an unknown cost. `usage_tags`: those of a month (`2026-11`) that are counted.
 */
const usageSums = ({ int64, id, tableEnd }: Engine): string[] => [
  `create table usage_sums (
    account_id ${id} not null references accounts (id),
    day ${int64} not null,
    key_id ${id} not null references api_keys (id),
    kind ${id} not null,
    model ${id} not null,
    status ${id} not null,
    tag ${id} not null,
    jobs ${int64} not null,
    charged ${int64} not null,
    refunded ${int64} not null default 0,
    cost ${int64} not null default 0,
    uncosted ${int64} not null default 0,
    primary key (account_id, day, key_id, kind, model, status, tag)
  )${tableEnd}`,
  `create index usage_sums_by_day on usage_sums (day)`,
  `create table usage_tags (
    account_id ${id} not null references accounts (id),
    month ${id} not null,
    tag ${id} not null,
    primary key (account_id, month, tag)
  )${tableEnd}`,
];

const idempotencyKeys = ({ int64, id, tableEnd }: Engine): string[] => [
  `create table idempotency_keys (
    account_id ${id} not null references accounts (id),
    endpoint ${id} not null,
    idempotency_key ${id} not null,
    body_hash text not null,
    job_id ${id} not null references jobs (id),
    expires_at ${int64} not null,
    primary key (account_id, endpoint, idempotency_key)
  )${tableEnd}`,
  `create index idempotency_keys_by_expiry on idempotency_keys (expires_at)`,
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

/** All movements of money. `payment`: the payment that an entry comes from. */
const ledger = ({ kind, int64, id, tableEnd }: Engine): string[] => [
  `create table ledger_entries (
    id ${id} not null primary key,
    account_id ${id} not null references accounts (id),
    type text not null check (type in ('topup', 'debit', 'refund', 'adjustment')),
    amount ${int64} not null,
    job_id ${id} references jobs (id),
    payment ${id},
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
  `create index ledger_entries_of_payments on ledger_entries (payment) where payment is not null`,
  ...appendOnly[kind],
];

/** `made_clips`: videos that were made here, by the hexadecimal SHA-256 of their bytes. */
const media = ({ int64, id, tableEnd }: Engine): string[] => [
  `create table media (
    id ${id} not null primary key,
    account_id ${id} not null references accounts (id),
    job_id ${id} references jobs (id),
    role text not null default 'image' check (role in ('image', 'video', 'last_frame', 'input')),
    position ${int64} not null default 0,
    content_type text not null,
    size_bytes ${int64} not null check (size_bytes >= 0),
    created_at ${int64} not null,
    expires_at ${int64} not null,
    removed_at ${int64}
  )${tableEnd}`,
  `create index media_by_job on media (job_id) where job_id is not null`,
  `create index media_to_remove on media (expires_at, id) where removed_at is null`,
  `create table made_clips (
    digest ${id} not null primary key,
    seconds ${int64} not null,
    created_at ${int64} not null
  )${tableEnd}`,
  `create index made_clips_by_age on made_clips (created_at)`,
];

const slashed = `replace(replace(replace(url, '\\', '/'), '?', '/'), '#', '/')`;
const withoutScheme = `substr(${slashed}, instr(${slashed}, '//') + 2)`;

/** The text between `//` and the path: good enough to tell receivers apart, not to connect. */
const hostOfUrl = {
  sqlite: `substr(${withoutScheme}, 1, instr(${withoutScheme} || '/', '/') - 1)`,
  postgres: `split_part(translate(url, '\\?#', '///'), '/', 3)`,
} satisfies Record<Engine['kind'], string>;

/**
 * Events and their deliveries. Without an account, an event is for the operator. `receiver`: an account and its host; each
 * has its own queue.
 */
const webhooks = ({ kind, int64, id, tableEnd }: Engine): string[] => [
  `create table webhook_events (
    id ${id} not null primary key,
    account_id ${id} references accounts (id),
    event text not null default 'job.finished',
    job_id ${id} references jobs (id),
    url text not null,
    receiver ${id} generated always as (coalesce(account_id, '') || ' ' || lower(substr(${hostOfUrl[kind]}, 1, 255))) stored,
    body text not null,
    state text not null check (state in ('pending', 'delivered', 'stopped', 'exhausted')),
    attempts ${int64} not null default 0,
    attempts_logged ${int64} not null default 0,
    next_attempt_at ${int64},
    lease_owner text,
    lease_until ${int64},
    created_at ${int64} not null,
    updated_at ${int64} not null,
    check (job_id is not null or event <> 'job.finished'),
    check (attempts >= 0 and attempts <= attempts_logged),
    check ((state = 'pending') = (next_attempt_at is not null)),
    check ((lease_owner is null) = (lease_until is null)),
    check (lease_owner is null or state = 'pending')
  )${tableEnd}`,
  `create index webhook_events_due on webhook_events (receiver, next_attempt_at, created_at, id)
    where next_attempt_at is not null`,
  `create index webhook_events_by_age on webhook_events (created_at desc, id desc)`,
  `create index webhook_events_by_state on webhook_events (state, created_at desc, id desc)`,
  `create index webhook_events_by_account on webhook_events (account_id, created_at desc, id desc)`,
  `create index webhook_events_by_job on webhook_events (job_id)`,
  `create table webhook_attempts (
    event_id ${id} not null references webhook_events (id),
    number ${int64} not null,
    at ${int64} not null,
    duration_ms ${int64} not null check (duration_ms >= 0),
    http_status ${int64},
    failure text,
    primary key (event_id, number)
  )${tableEnd}`,
];

/** `told`: 1 as long as the account is known to have a balance below the limit. */
const balanceAlerts = ({ int64, id, tableEnd }: Engine): string[] => [
  `create table balance_alerts (
    account_id ${id} not null primary key references accounts (id),
    below ${int64} not null check (below > 0),
    url text not null,
    told ${int64} not null default 0
  )${tableEnd}`,
];

/** What operators were told of, and has not ended. `seen_at`: when a process last saw it. */
const operatorAlerts = ({ int64, id, tableEnd }: Engine): string[] => [
  `create table operator_alerts (
    alert ${id} not null,
    subject ${id} not null,
    began_at ${int64} not null,
    seen_at ${int64} not null,
    primary key (alert, subject)
  )${tableEnd}`,
];

/** Jobs, the money that they hold and move, their media and events. */
export const jobs = (engine: Engine): string[] => [
  ...jobTable(engine),
  ...holds(engine),
  ...usageSums(engine),
  ...idempotencyKeys(engine),
  ...ledger(engine),
  ...media(engine),
  ...webhooks(engine),
  ...balanceAlerts(engine),
  ...operatorAlerts(engine),
];
