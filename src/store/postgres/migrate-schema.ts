import type { DatabaseIntrospector } from 'kysely';
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
 * Names alone, of one schema. Kysely's own looks at every column of every table of the database, and stumbles over one that
 * goes at that moment.
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
