import type { Engine } from './engine.ts';

/**
 * The people who asked to be forgotten: digests of their names, each with the salt of one of the lists. `id`: a digest of
 * the salt. `revision` counts additions; its row is the lock of them all.
 */
export const forgottenPeople = ({ kind, int64, id, tableEnd }: Engine): string[] => [
  `create table forgotten_lists (
    id ${id} not null primary key,
    salt ${id} not null,
    position ${int64} not null unique
  )${tableEnd}`,
  `create table forgotten_people (digest ${id} not null primary key)${tableEnd}${kind === 'sqlite' ? ', without rowid' : ''}`,
  `create table forgotten_revision (
    id ${int64} not null primary key check (id = 1),
    revision ${int64} not null
  )${tableEnd}`,
];
