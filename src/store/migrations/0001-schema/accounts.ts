import type { Engine } from '../engine.ts';

const accountTable = ({ int64, id, tableEnd }: Engine): string[] => [
  `create table accounts (
    id ${id} not null primary key,
    name text not null,
    status text not null check (status in ('pending', 'active', 'suspended')),
    status_changed_at ${int64} not null,
    balance ${int64} not null default 0,
    held ${int64} not null default 0,
    sandbox ${int64} not null default 0,
    terms text,
    wallet ${id},
    wallet_key ${id},
    webhook_secret text,
    webhook_secret_previous text,
    webhook_previous_until ${int64},
    created_at ${int64} not null,
    check (held >= 0 and held <= balance)
  )${tableEnd}`,
  `create index accounts_by_age on accounts (created_at, id)`,
  `create unique index accounts_of_wallets on accounts (wallet, sandbox) where wallet is not null`,
];

/** `key_use`: the sums of a key in a day (`2026-11-23`), in a month (`2026-11`), and in all (`total`). */
const keys = ({ int64, id, tableEnd }: Engine): string[] => [
  `create table api_keys (
    id ${id} not null primary key,
    account_id ${id} not null references accounts (id),
    hash ${id} not null unique,
    display text not null,
    label text not null,
    made_by text,
    models text,
    tools text,
    budget_day ${int64} check (budget_day > 0),
    budget_month ${int64} check (budget_month > 0),
    budget_total ${int64} check (budget_total > 0),
    alert_url text,
    usage_tag text,
    created_at ${int64} not null,
    expires_at ${int64},
    revoked_at ${int64},
    last_used_at ${int64}
  )${tableEnd}`,
  `create index api_keys_by_account on api_keys (account_id, created_at, id)`,
  `create table key_use (
    key_id ${id} not null references api_keys (id),
    period ${id} not null,
    spent ${int64} not null check (spent >= 0),
    held ${int64} not null check (held >= 0),
    primary key (key_id, period)
  )${tableEnd}`,
];

/** The nonces of sign-ins that were used. Each is kept until its signature has expired. */
const signIns = ({ int64, id, tableEnd }: Engine): string[] => [
  `create table spent_nonces (
    nonce ${id} not null primary key,
    expires_at ${int64} not null
  )${tableEnd}`,
  `create index spent_nonces_by_expiry on spent_nonces (expires_at)`,
];

/** A row of the log without an outcome is a change that began and whose end is unknown. */
const operators = ({ int64, id, tableEnd }: Engine): string[] => [
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

/**
 * Who is signed in to the console. `id`: SHA-256 of the cookie, which is not stored. `key_hash`: that of the key, in
 * `api_keys` for a customer and in `operator_keys` for an operator.
 */
const consoleSessions = ({ int64, id, tableEnd }: Engine): string[] => [
  `create table console_sessions (
    id ${id} not null primary key,
    role text not null check (role in ('customer', 'operator')),
    key_hash ${id} not null,
    expires_at ${int64} not null
  )${tableEnd}`,
  `create index console_sessions_by_key on console_sessions (key_hash, expires_at)`,
  `create index console_sessions_by_expiry on console_sessions (expires_at)`,
];

/** Who may call: accounts with their keys, sign-ins, operators, sessions of the console. */
export const accounts = (engine: Engine): string[] => [
  ...accountTable(engine),
  ...keys(engine),
  ...signIns(engine),
  ...operators(engine),
  ...consoleSessions(engine),
];

/**
 * A connection is a key that an assistant uses: it has a row of `api_keys`, whose `made_by` is the key that made it.
 * `scopes`, `servers`: JSON arrays. `resource`: a path. `client`: JSON of what the assistant said of itself. `ask_above`: a call that
 * may cost more needs the person. `asked_calls`: calls that wait for a person. `call_hash`: SHA-256 of the operation and
 * its input. `oauth_records`: what the authorization server keeps. `id`: SHA-256 of the code, token or cookie, which is
 * not stored; `grant_id` likewise.
 */
export const connections = ({ int64, id, tableEnd }: Engine): string[] => [
  `create table connections (
    id ${id} not null primary key references api_keys (id),
    parent_id ${id} not null references api_keys (id),
    grant_id ${id} not null unique,
    scopes text not null,
    servers text not null,
    resource text not null,
    client text not null,
    ask_above ${int64} check (ask_above >= 0)
  )${tableEnd}`,
  `create index connections_by_parent on connections (parent_id)`,
  `create table asked_calls (
    id ${id} not null primary key,
    account_id ${id} not null references accounts (id),
    key_id ${id} not null references api_keys (id),
    call_hash ${id} not null,
    operation text not null,
    model text,
    most ${int64} not null check (most > 0),
    answer text check (answer in ('confirmed', 'declined')),
    expires_at ${int64} not null,
    unique (key_id, call_hash)
  )${tableEnd}`,
  `create index asked_calls_by_expiry on asked_calls (expires_at)`,
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
