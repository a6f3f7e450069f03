import type { Engine } from '../engine.ts';

/** `turn` orders a queue so that accounts take turns. */
const jobTable = ({ int64, id, tableEnd }: Engine): string[] => [
  `create table jobs (
    id ${id} not null primary key,
    account_id ${id} not null references accounts (id),
    key_id ${id} not null references api_keys (id),
    kind text not null check (kind in ('chat', 'image', 'responses', 'video')),
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
    check (attempts >= 0 and attempts <= max_attempts),
    check ((status = 'running') = (lease_owner is not null)),
    check ((status = 'running') = (lease_until is not null)),
    check ((status in ('done', 'failed')) = (finished_at is not null))
  )${tableEnd}`,
  `create index jobs_by_account on jobs (account_id, created_at desc, id desc)`,
  `create index jobs_in_queue on jobs (kind, turn, id) where status = 'queued'`,
  `create index jobs_of_account_in_queue on jobs (account_id, kind, turn) where status = 'queued'`,
  `create index jobs_in_queue_by_deadline on jobs (deadline_at) where status = 'queued'`,
  `create index jobs_active on jobs (account_id, kind) where status in ('queued', 'running')`,
  `create index jobs_by_lease on jobs (lease_until) where status = 'running'`,
];

/**
 * `budgeted`: 1 for a hold that counts in the use of its key. `payment`: the payment that pays for the job when it has
 * ended, in place of the balance; `debited`: 0 as long as that has not been settled and debited.
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

/** Jobs, the money that they hold, and the keys of their calls. */
export const jobs = (engine: Engine): string[] => [
  ...jobTable(engine),
  ...holds(engine),
  ...idempotencyKeys(engine),
];
