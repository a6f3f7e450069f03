import { StoreError } from '../store-error.ts';
import type { Engine } from './engine.ts';
import { schema } from './0001-schema.ts';

export type Migrations = Readonly<Record<string, (engine: Engine) => string[]>>;

/** All migrations, which run in the order of their names. Never change one that was released. */
export const migrations: Migrations = { '0001-schema': schema };

/** The first migration of stores from before the first release, which no version upgrades. */
const beforeRelease = '0001-initial';

/**
 * Judges a store by its executed migrations: says what is wrong with it, and what to do, without capitals and full stops.
 * Returns null if this version knows all of them.
 */
export const describeForeignSchema = (executed: readonly string[], known: Migrations = migrations) => {
  if (executed.includes(beforeRelease))
    return {
      fact: 'a version of Causeway from before the first release made this store, and this version cannot read it',
      remedy:
        'export what matters with the version that wrote it, or start with an empty store (another DATA_DIR or DATABASE_URL)',
    };
  const unknown = executed.filter((name) => !(name in known));
  return unknown.length === 0
    ? null
    : {
        fact: `a newer version of Causeway has changed this store (migration ${unknown.join(', ')})`,
        remedy: 'start that version, or restore a backup from before the upgrade',
      };
};

/** The same in one line; null if this version knows all migrations. */
export const foreignSchemaLine = (executed: readonly string[], known?: Migrations): string | null => {
  const foreign = describeForeignSchema(executed, known);
  return foreign && `${foreign.fact}; ${foreign.remedy}`;
};

/**
 * Returns the statements that bring a store with these executed migrations to the newest schema, and note them in
 * `kysely_migration`; empty if it is current. Throws StoreError on an unknown migration, which another version ran.
 */
export const missingStatements = (
  executed: readonly string[],
  engine: Engine,
  known: Migrations = migrations,
): string[] => {
  const problem = foreignSchemaLine(executed, known);
  if (problem !== null) throw new StoreError('failed', problem);
  const missing = Object.entries(known).filter(([name]) => !executed.includes(name));
  if (missing.length === 0) return [];
  const time = new Date().toISOString();
  return [
    `create table if not exists kysely_migration
      (name varchar(255) not null primary key, timestamp varchar(255) not null)`,
    ...missing.flatMap(([name, build]) => [
      ...build(engine),
      `insert into kysely_migration (name, timestamp) values ('${name}', '${time}')`,
    ]),
  ];
};
