import { sql, type Kysely } from 'kysely';
import { Migrator, type Migration } from 'kysely/migration';
import type { Engine } from './engine.ts';
import { migrations } from './migrations.ts';

const toMigration = (statements: string[]): Migration => ({
  up: async (database) => {
    for (const statement of statements) await sql.raw(statement).execute(database);
  },
});

/**
 * Runs the missing migrations. `schema` is the PostgreSQL schema, created if missing. Throws the error of a failed
 * migration.
 */
export const migrateToLatest = async (
  database: Kysely<unknown>,
  { engine, schema }: { engine: Engine; schema?: string },
): Promise<void> => {
  const all = Object.entries(migrations).map(([name, build]) => [name, toMigration(build(engine))] as const);
  const migrator = new Migrator({
    db: database,
    provider: { getMigrations: async () => Object.fromEntries(all) },
    ...(schema === undefined ? {} : { migrationTableSchema: schema }),
  });
  const { error } = await migrator.migrateToLatest();
  if (error !== undefined) throw error;
};
