import type { DatabaseIntrospector } from 'kysely';
import type { Pool } from './connection.ts';
import { postgresEngine } from '../migrations/engine.ts';
import { isCurrent } from '../migrations/migrations.ts';

/**
 * Migrates `schema` to the newest version, and creates it if missing. An advisory lock of the database lets one process
 * do it while others wait. Loads Kysely only if there is a migration to run.
 */
export const migrateSchema = async (pool: Pool, schema: string): Promise<void> => {
  if (isCurrent(await executedMigrations(pool, schema))) return;
  const [{ Kysely, PostgresDialect }, { migrateToLatest }] = await Promise.all([
    import('kysely'),
    import('../migrations/migrate.ts'),
  ]);
  const dialect = new PostgresDialect({ pool });
  const kysely = new Kysely<unknown>({
    dialect: {
      createAdapter: () => dialect.createAdapter(),
      createDriver: () => dialect.createDriver(),
      createQueryCompiler: () => dialect.createQueryCompiler(),
      createIntrospector: () => introspectorOf(pool, schema),
    },
  });
  await migrateToLatest(kysely, { engine: postgresEngine, schema });
};

/**
 * Reads only the table names of one schema. Kysely's own introspector reads every column of every table of the
 * database, and fails if a table is dropped at that moment.
 */
const introspectorOf = (pool: Pool, schema: string): DatabaseIntrospector => ({
  getSchemas: async () => {
    const { rows }: { rows: { name: string }[] } = await pool.query(
      'select nspname as name from pg_namespace where nspname = $1',
      [schema],
    );
    return rows;
  },
  getTables: async () => {
    const { rows }: { rows: { name: string }[] } = await pool.query(
      'select table_name as name from information_schema.tables where table_schema = $1',
      [schema],
    );
    return rows.map(({ name }) => ({ name, schema, isView: false, isForeign: false, columns: [] }));
  },
});

const executedMigrations = async (pool: Pool, schema: string): Promise<string[]> => {
  const { rows: tables } = await pool.query(
    `select 1 from information_schema.tables where table_schema = $1 and table_name = 'kysely_migration'`,
    [schema],
  );
  if (tables.length === 0) return [];
  const { rows }: { rows: { name: string }[] } = await pool.query('select name from kysely_migration');
  return rows.map(({ name }) => name);
};
