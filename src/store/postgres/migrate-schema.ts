import type { PoolClient } from 'pg';
import type { Pool } from './connection.ts';
import { postgresEngine } from '../migrations/engine.ts';
import { missingStatements } from '../migrations/migrations.ts';

/** Identifies the advisory lock of migrations. */
const migrationLock = '3853314791062309107';

/**
 * Migrates `schema` to the newest version, and creates it if missing. An advisory lock of the database lets one process
 * do it while others wait.
 */
export const migrateSchema = async (pool: Pool, schema: string): Promise<void> => {
  const client = await pool.connect();
  try {
    if ((await missingIn(client, schema)).length === 0) return;
    await client.query('begin');
    await client.query(`select pg_advisory_xact_lock(${migrationLock})`);
    const { rows } = await client.query('select 1 from pg_namespace where nspname = $1', [schema]);
    if (rows.length === 0) await client.query(`create schema ${schema}`);
    for (const statement of await missingIn(client, schema)) await client.query(statement);
    await client.query('commit');
  } finally {
    // Ends the connection, and so rolls back a migration that failed.
    client.release(true);
  }
};

const missingIn = async (client: PoolClient, schema: string): Promise<string[]> => {
  const { rows: tables } = await client.query(
    `select 1 from information_schema.tables where table_schema = $1 and table_name = 'kysely_migration'`,
    [schema],
  );
  const { rows }: { rows: { name: string }[] } =
    tables.length === 0 ? { rows: [] } : await client.query('select name from kysely_migration');
  return missingStatements(
    rows.map(({ name }) => name),
    postgresEngine,
  );
};
