import type { Pool } from './connection.ts';
import { postgresEngine } from '../migrations/engine.ts';
import { isCurrent } from '../migrations/migrations.ts';

/**
 * Brings `schema` to the newest migrations, and makes it when missing. An advisory lock of the database lets
 * one process do it while others wait. Kysely is loaded only when there is something to do.
 */
export const migrateSchema = async (pool: Pool, schema: string): Promise<void> => {
  if (isCurrent(await executedMigrations(pool, schema))) return;
  const [{ Kysely, PostgresDialect }, { migrateToLatest }] = await Promise.all([
    import('kysely'),
    import('../migrations/migrate.ts'),
  ]);
  const kysely = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) });
  for (let attempt = 1; ; attempt += 1) {
    try {
      await migrateToLatest(kysely, { engine: postgresEngine, schema });
      return;
    } catch (error) {
      if (attempt >= attempts || !isOfGoneTable(error)) throw error;
    }
  }
};

/** Kysely looks at the columns of all tables of the database, and stumbles over one that goes at that moment. */
const attempts = 10;
const codesOfGoneTable = new Set(['3F000', '42P01']);

const isOfGoneTable = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && codesOfGoneTable.has(String(error.code));

const executedMigrations = async (pool: Pool, schema: string): Promise<string[]> => {
  const { rows: tables } = await pool.query(
    `select 1 from information_schema.tables where table_schema = $1 and table_name = 'kysely_migration'`,
    [schema],
  );
  if (tables.length === 0) return [];
  const { rows }: { rows: { name: string }[] } = await pool.query('select name from kysely_migration');
  return rows.map(({ name }) => name);
};
