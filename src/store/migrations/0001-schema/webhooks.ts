import type { Engine } from '../engine.ts';

const slashed = `replace(replace(replace(url, '\\', '/'), '?', '/'), '#', '/')`;
const withoutScheme = `substr(${slashed}, instr(${slashed}, '//') + 2)`;

/** The text between `//` and the path: good enough to tell receivers apart, not to connect. */
const hostOfUrl = {
  sqlite: `substr(${withoutScheme}, 1, instr(${withoutScheme} || '/', '/') - 1)`,
  postgres: `split_part(translate(url, '\\?#', '///'), '/', 3)`,
} satisfies Record<Engine['kind'], string>;

/** Events and their deliveries. `receiver`: an account and its host; each has its own queue. */
export const webhooks = ({ kind, int64, id, tableEnd }: Engine): string[] => [
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
