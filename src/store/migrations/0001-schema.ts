import { accounts } from './0001-schema/accounts.ts';
import { connections } from './0001-schema/accounts.ts';
import { jobs } from './0001-schema/jobs.ts';
import { payments } from './0001-schema/payments.ts';
import { profiles } from './0001-schema/profiles.ts';
import type { Engine } from './engine.ts';

/** A deployment's own secrets, which all its processes share. */
const secrets = ({ id, tableEnd }: Engine): string[] => [
  `create table secrets (name ${id} not null primary key, value text not null)${tableEnd}`,
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
  ...profiles(engine),
  ...secrets(engine),
  ...writeProbe(engine),
];
