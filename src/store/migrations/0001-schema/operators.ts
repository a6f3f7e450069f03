import type { Engine } from '../engine.ts';

/**
 * Keys of the operator's API, and the log of all changes that operators make. A row of the log without an outcome is a
 * change that began and whose end is unknown.
 */
export const operators = ({ int64, id, tableEnd }: Engine): string[] => [
  `create table operator_keys (
    id ${id} not null primary key,
    hash ${id} not null unique,
    display text not null,
    label text not null,
    role text not null check (role in ('read', 'write')),
    created_at ${int64} not null,
    expires_at ${int64},
    revoked_at ${int64}
  )${tableEnd}`,
  `create table audit_log (
    id ${id} not null primary key,
    at ${int64} not null,
    actor ${id} not null,
    actor_label text,
    operation ${id} not null,
    input text not null,
    request_id text,
    outcome text check (outcome in ('done', 'failed')),
    error text,
    finished_at ${int64},
    check ((outcome is null) = (finished_at is null))
  )${tableEnd}`,
  `create index audit_log_by_time on audit_log (at, id)`,
  `create index audit_log_by_actor on audit_log (actor, at, id)`,
  `create index audit_log_by_operation on audit_log (operation, at, id)`,
];
