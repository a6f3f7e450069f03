import type { DatabaseSync } from 'node:sqlite';
import { sqliteEngine } from '../migrations/engine.ts';
import { missingStatements } from '../migrations/migrations.ts';

/** Long, because other processes may migrate on the same machine at the same time. */
const lockTimeoutMs = 60_000;

/**
 * Migrates the file to the newest schema. The process with the write lock does it; others wait for the lock and find
 * the work done. Sets the busy timeout to `busyTimeoutMs` afterwards.
 */
export const migrateDatabase = (database: DatabaseSync, busyTimeoutMs: number): void => {
  if (missingIn(database).length === 0) return;
  database.exec(`pragma busy_timeout = ${lockTimeoutMs}`);
  database.exec('begin immediate');
  try {
    for (const statement of missingIn(database)) database.exec(statement);
    database.exec('commit');
  } catch (error) {
    if (database.isTransaction) database.exec('rollback');
    throw error;
  }
  database.exec(`pragma busy_timeout = ${busyTimeoutMs}`);
};

const missingIn = (database: DatabaseSync): string[] => {
  const table = database.prepare(`select 1 from sqlite_schema where name = 'kysely_migration'`).get();
  const executed = table === undefined ? [] : database.prepare('select name from kysely_migration').all();
  return missingStatements(
    executed.map(({ name }) => String(name)),
    sqliteEngine,
  );
};
