import type { Engine } from './engine.ts';

const accounts = ({ int64 }: Engine): string[] => [
  `alter table accounts add column terms text`,
  `alter table accounts add column webhook_secret text`,
  `alter table accounts add column webhook_secret_previous text`,
  `alter table accounts add column webhook_previous_until ${int64}`,
];

const jobs = ({ int64 }: Engine): string[] => [
  `alter table jobs add column progress ${int64} not null default 0 check (progress between 0 and 100)`,
  `alter table jobs add column provider_task text`,
  `alter table jobs add column parameters text`,
  `alter table jobs add column webhook_url text`,
  `alter table jobs add column turn ${int64}`,
  `update jobs set turn = created_at where status = 'queued'`,
  `drop index jobs_in_queue`,
  `create index jobs_in_queue on jobs (kind, turn, id) where status = 'queued'`,
  `create index jobs_of_account_in_queue on jobs (account_id, kind, turn) where status = 'queued'`,
  `create index jobs_active on jobs (account_id, kind) where status in ('queued', 'running')`,
  `create index idempotency_keys_by_expiry on idempotency_keys (expires_at)`,
];

const roles = `check (role in ('image', 'video', 'last_frame', 'input'))`;

const media = {
  // SQLite cannot make a column nullable. Nothing refers to this table, so it is created again.
  sqlite: [
    `create table media_anew (
      id text not null primary key,
      account_id text not null references accounts (id),
      job_id text references jobs (id),
      role text not null default 'image' ${roles},
      position integer not null default 0,
      content_type text not null,
      size_bytes integer not null check (size_bytes >= 0),
      created_at integer not null,
      expires_at integer not null,
      removed_at integer
    ) strict`,
    `insert into media_anew (id, account_id, job_id, content_type, size_bytes, created_at, expires_at)
      select id, account_id, job_id, content_type, size_bytes, created_at, expires_at from media`,
    `drop table media`,
    `alter table media_anew rename to media`,
  ],
  postgres: [
    `alter table media alter column job_id drop not null`,
    `alter table media add column role text not null default 'image' ${roles}`,
    `alter table media add column position bigint not null default 0`,
    `alter table media add column removed_at bigint`,
  ],
} satisfies Record<Engine['kind'], string[]>;

const mediaIndexes = [
  `create index media_by_job on media (job_id) where job_id is not null`,
  `create index media_to_remove on media (expires_at, id) where removed_at is null`,
];

const slashed = `replace(replace(replace(url, '\\', '/'), '?', '/'), '#', '/')`;
const withoutScheme = `substr(${slashed}, instr(${slashed}, '//') + 2)`;

/** The text between `//` and the path: good enough to tell receivers apart, not to connect. */
const hostOfUrl = {
  sqlite: `substr(${withoutScheme}, 1, instr(${withoutScheme} || '/', '/') - 1)`,
  postgres: `split_part(translate(url, '\\?#', '///'), '/', 3)`,
} satisfies Record<Engine['kind'], string>;

/** `receiver`: an account and its host; each has its own queue. */
const webhooks = ({ kind, int64, id, tableEnd }: Engine): string[] => [
  `create table webhook_events (
    id ${id} not null primary key,
    account_id ${id} not null references accounts (id),
    job_id ${id} not null references jobs (id),
    url text not null,
    receiver ${id} generated always as (account_id || ' ' || lower(${hostOfUrl[kind]})) stored,
    body text not null,
    state text not null check (state in ('pending', 'delivered', 'stopped', 'exhausted')),
    attempts ${int64} not null default 0,
    attempts_logged ${int64} not null default 0,
    next_attempt_at ${int64},
    lease_owner text,
    lease_until ${int64},
    created_at ${int64} not null,
    updated_at ${int64} not null,
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

const secrets = ({ id, tableEnd }: Engine): string[] => [
  `create table secrets (name ${id} not null primary key, value text not null)${tableEnd}`,
];

/** Account terms and webhook secrets, progress of jobs, media without a job, webhooks, deployment secrets; in order. */
export const webhooksAndMedia = (engine: Engine): string[] => [
  ...accounts(engine),
  ...jobs(engine),
  ...media[engine.kind],
  ...mediaIndexes,
  ...webhooks(engine),
  ...secrets(engine),
];
