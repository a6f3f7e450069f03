import type { Engine } from '../engine.ts';

/**
 * `sandbox`: 1 for an account with sandbox credit. `wallet`: the wallet that owns an account, once for real money and once
 * for sandbox credit; `wallet_key`: the key of its paid calls.
 */
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

/**
 * `models`: JSON array of SKUs. `made_by`: `operator`, `wallet` (a sign-in), or the id of the key that made it.
 * `key_use`: the sums of a key in a day (`2026-11-23`) or month (`2026-11`).
 */
const keys = ({ int64, id, tableEnd }: Engine): string[] => [
  `create table api_keys (
    id ${id} not null primary key,
    account_id ${id} not null references accounts (id),
    hash ${id} not null unique,
    display text not null,
    label text not null,
    made_by text,
    models text,
    budget_day ${int64} check (budget_day > 0),
    budget_month ${int64} check (budget_month > 0),
    alert_url text,
    created_at ${int64} not null,
    expires_at ${int64},
    revoked_at ${int64}
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

/** Accounts, their keys, and what keys have used. */
export const accounts = (engine: Engine): string[] => [
  ...accountTable(engine),
  ...keys(engine),
  ...signIns(engine),
];
