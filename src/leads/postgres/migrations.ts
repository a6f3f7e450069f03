import { blocksTable, profilesTable } from './generation-tables.ts';

/*
 * - `state`, one row: what searches answer from. `revision` is another value with every change (load-snapshot.ts);
 *   `generation` names the tables `profiles_N` and `blocks_N`, which a rebuild replaces as a whole.
 * - `parts`: part/part.ts. The parts of one `run` do not overlap and follow each other by their ids.
 * - `forgotten`: digests of the names of people who asked to be forgotten (person-digest.ts). `people_revision` of `state`
 *   is another value with every change of it.
 * - `unfinished`, one row at most, and `staged`: an import under way, row by row as they were read. Both are unlogged,
 *   so that a crash of the server, which empties such tables, empties both.
 */
const initial = [
  `create table state (
     only_row boolean primary key default true check (only_row),
     revision uuid not null default gen_random_uuid(),
     generation integer not null default 1,
     profiles bigint not null default 0,
     unicode text not null default '',
     updated_at bigint,
     salt uuid not null default gen_random_uuid()
   )`,
  `insert into state default values`,
  `create table parts (
     id integer generated always as identity primary key,
     run uuid not null,
     profiles integer not null,
     fences double precision[] not null,
     most_followers double precision not null,
     least_followers double precision not null,
     gone bytea,
     has_erased boolean not null default false
   )`,
  `create table forgotten (person uuid primary key)`,
  `create unlogged table staged (
     row bigint not null,
     person uuid not null,
     followers double precision not null,
     username bytea not null,
     lead text not null
   )`,
  `create unlogged table unfinished (
     only_row boolean primary key default true check (only_row),
     input_key text,
     mode text not null,
     position text,
     rows bigint not null default 0,
     is_read boolean not null default false,
     started_at bigint not null
   )`,
  ...profilesTable.create(1),
  ...profilesTable.index(1),
  ...blocksTable.create(1),
  ...blocksTable.index(1),
];

/** All migrations by name, in order; one that has run never changes. */
export const migrations: Readonly<Record<string, readonly string[]>> = {
  '0001-initial': initial,
  '0002-people-revision': [
    'alter table state add column people_revision uuid not null default gen_random_uuid()',
  ],
};
