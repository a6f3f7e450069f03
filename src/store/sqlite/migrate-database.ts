import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { sqliteEngine } from '../migrations/engine.ts';
import { isCurrent } from '../migrations/migrations.ts';

/**
 * Brings the file to the newest schema. The write lock is held throughout, so a second process that opens
 * the file waits and then finds the work done. Kysely is loaded only when there is something to do.
 */
export const migrateDatabase = async (database: DatabaseSync): Promise<void> => {
  if (isCurrent(executedMigrations(database))) return;
  const [{ Kysely, SqliteDialect }, { migrateToLatest }] = await Promise.all([
    import('kysely'),
    import('../migrations/migrate.ts'),
  ]);
  const kysely = new Kysely<unknown>({
    dialect: new SqliteDialect({ database: { close: () => {}, prepare: prepareForKysely(database) } }),
  });
  database.exec('begin immediate');
  try {
    await migrateToLatest(kysely, { engine: sqliteEngine });
    database.exec('commit');
  } catch (error) {
    if (database.isTransaction) database.exec('rollback');
    throw error;
  }
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
