import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { sqliteEngine } from '../migrations/engine.ts';
import { isCurrent } from '../migrations/migrations.ts';

/** Long, because other processes may migrate on the same machine at the same time. */
const lockTimeoutMs = 60_000;

/**
 * Migrates the file to the newest schema. The process with the write lock does it; others wait for the lock and find
 * the work done. Loads Kysely only if there is a migration to run. Sets the busy timeout to `busyTimeoutMs` afterwards.
 */
export const migrateDatabase = async (database: DatabaseSync, busyTimeoutMs: number): Promise<void> => {
  if (isCurrent(executedMigrations(database))) return;
  database.exec(`pragma busy_timeout = ${lockTimeoutMs}`);
  database.exec('begin immediate');
  try {
    if (!isCurrent(executedMigrations(database))) await migrateWithKysely(database);
    database.exec('commit');
  } catch (error) {
    if (database.isTransaction) database.exec('rollback');
    throw error;
  }
  database.exec(`pragma busy_timeout = ${busyTimeoutMs}`);
};

const migrateWithKysely = async (database: DatabaseSync): Promise<void> => {
  const [{ Kysely, SqliteDialect }, { migrateToLatest }] = await Promise.all([
    import('kysely'),
    import('../migrations/migrate.ts'),
  ]);
  const dialect = new SqliteDialect({ database: { close: () => {}, prepare: prepareForKysely(database) } });
  await migrateToLatest(new Kysely<unknown>({ dialect }), { engine: sqliteEngine });
};

const executedMigrations = (database: DatabaseSync): string[] => {
  const table = database.prepare(`select 1 from sqlite_schema where name = 'kysely_migration'`).get();
  if (table === undefined) return [];
  return database
    .prepare('select name from kysely_migration')
    .all()
    .map(({ name }) => String(name));
};

const prepareForKysely = (database: DatabaseSync) => (text: string) => {
  const statement = database.prepare(text);
  return {
    reader: statement.columns().length > 0,
    all: (parameters: readonly unknown[]) => statement.all(...parameters.map(bindable)),
    run: (parameters: readonly unknown[]) => statement.run(...parameters.map(bindable)),
    iterate: (parameters: readonly unknown[]) => statement.iterate(...parameters.map(bindable)),
  };
};

const bindable = (value: unknown): SQLInputValue => {
  if (value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint')
    return value;
  throw new TypeError(`SQLite cannot bind a value of type ${typeof value}`);
};
