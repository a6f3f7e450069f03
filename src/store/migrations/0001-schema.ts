import { accounts, connections } from './0001-schema/accounts.ts';
import { cardPayments } from './0001-schema/card-payments.ts';
import { jobs } from './0001-schema/jobs.ts';
import { payments } from './0001-schema/payments.ts';
import { profiles } from './0001-schema/profiles.ts';
import type { Engine } from './engine.ts';

/** A deployment's own secrets, which all its processes share. */
const secrets = ({ id, tableEnd }: Engine): string[] => [
  `create table secrets (name ${id} not null primary key, value text not null)${tableEnd}`,
];

/**
 * The tools of mounted servers. `definition`: what a model reads of it, as its server lists it now, and `pin`, the SHA-256
 * of that; null if it has a `problem`. `accepted` and `accepted_pin`: the same as an operator accepted them, in the change
 * `accepted_in` of the audit log.
 */
const mountedTools = ({ int64, id, tableEnd }: Engine): string[] => [
  `create table mounted_tools (
    server ${id} not null,
    tool ${id} not null,
    definition text,
    pin ${id},
    problem text,
    seen_at ${int64} not null,
    accepted text,
    accepted_pin ${id},
    accepted_at ${int64},
    accepted_in ${id} references audit_log (id),
    primary key (server, tool),
    check ((definition is null) = (pin is null)),
    check ((pin is null) = (problem is not null)),
    check ((accepted is null) = (accepted_pin is null)),
    check ((accepted is null) = (accepted_at is null)),
    check ((accepted is null) = (accepted_in is null))
  )${tableEnd}`,
];

/**
 * What operators changed of SKUs while a gateway ran, in changes `changed_in` of the audit log. `price`: in place of that of
 * the settings. `until`: when the next change took its place, far away for the present one.
 */
const modelChanges = ({ int64, id, tableEnd }: Engine): string[] => [
  `create table model_changes (
    sku ${id} not null,
    version ${int64} not null check (version > 0),
    at ${int64} not null,
    until ${int64} not null,
    price text,
    is_off ${int64} not null check (is_off in (0, 1)),
    before text not null,
    after text not null,
    changed_in ${id} not null references audit_log (id),
    primary key (sku, version)
  )${tableEnd}`,
  `create index model_changes_by_end on model_changes (until)`,
];

/** What accounts set for mounted servers, encrypted by a key of the settings. Null: it was removed. */
const toolSecrets = ({ id, tableEnd }: Engine): string[] => [
  `create table tool_secrets (
    account_id ${id} not null references accounts (id),
    server ${id} not null,
    name ${id} not null,
    key_id ${id} not null,
    sealed text,
    primary key (account_id, server, name)
  )${tableEnd}`,
];

/** The embedded store writes to this table to test whether its disk is full. */
const writeProbe = ({ kind }: Engine): string[] =>
  kind === 'sqlite' ? ['create table write_probe (id integer primary key, filler blob not null) strict'] : [];

/** The statements of the first schema. A table comes after those that it refers to. */
export const schema = (engine: Engine): string[] => [
  ...accounts(engine),
  ...connections(engine),
  ...jobs(engine),
  ...payments(engine),
  ...cardPayments(engine),
  ...profiles(engine),
  ...modelChanges(engine),
  ...mountedTools(engine),
  ...toolSecrets(engine),
  ...secrets(engine),
  ...writeProbe(engine),
];
