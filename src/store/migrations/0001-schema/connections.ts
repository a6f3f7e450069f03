import type { Engine } from '../engine.ts';

/**
 * A connection is a key that an assistant uses: it has a row of `api_keys`, whose `made_by` is the key that made it.
 * `scopes`: JSON array. `client`: JSON of what the assistant said of itself. `oauth_records`: what the authorization
 * server keeps. `id`: SHA-256 of the code, token or cookie, which is not stored; `grant_id` likewise.
 */
export const connections = ({ int64, id, tableEnd }: Engine): string[] => [
  `create table connections (
    id ${id} not null primary key references api_keys (id),
    parent_id ${id} not null references api_keys (id),
    grant_id ${id} not null unique,
    scopes text not null,
    client text not null
  )${tableEnd}`,
  `create index connections_by_parent on connections (parent_id)`,
  `create table oauth_records (
    model ${id} not null,
    id ${id} not null,
    payload text not null,
    grant_id ${id},
    uid ${id},
    used_at ${int64} not null,
    consumed_at ${int64},
    expires_at ${int64} not null,
    primary key (model, id)
  )${tableEnd}`,
  `create index oauth_records_by_grant on oauth_records (grant_id) where grant_id is not null`,
  `create index oauth_records_by_uid on oauth_records (uid) where uid is not null`,
  `create index oauth_records_by_use on oauth_records (model, used_at)`,
  `create index oauth_records_by_expiry on oauth_records (expires_at)`,
];
