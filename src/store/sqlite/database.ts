import { DatabaseSync } from 'node:sqlite';
import { sqliteEngine } from '../migrations/engine.ts';
import { missingStatements } from '../migrations/migrations.ts';
import { primaryCode, type ConnectionSettings } from './messages.ts';

/** WAL, an fsync at each commit, foreign keys, and zeros in place of deleted data, such as prompts of ended jobs. */
export const openDatabase = ({ file, busyTimeoutMs }: Omit<ConnectionSettings, 'role'>): DatabaseSync => {
  const database = new DatabaseSync(file, {
    timeout: busyTimeoutMs,
    enableForeignKeyConstraints: true,
    enableDoubleQuotedStringLiterals: false,
  });
  try {
    useWriteAheadLog(database, Date.now() + busyTimeoutMs);
    database.exec('pragma synchronous = full; pragma secure_delete = on');
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
};

/**
 * Moves committed data into the file and empties the write-ahead log, which still contains deleted data. Does nothing
 * while another connection reads or writes, or while the disk is full.
 */
export const emptyLog = (database: DatabaseSync, busyTimeoutMs: number): void => {
  database.exec('pragma busy_timeout = 0');
  try {
    database.exec('pragma wal_checkpoint(truncate)');
  } catch {
    // The next call tries again.
  }
  database.exec(`pragma busy_timeout = ${busyTimeoutMs}`);
};

const sqliteBusy = 5;
const pauseMs = 20;

/** Retries, because SQLite does not wait for the change of journal mode when two processes open a new file at once. */
const useWriteAheadLog = (database: DatabaseSync, giveUpAt: number): void => {
  for (;;) {
    try {
      database.exec('pragma journal_mode = wal');
      return;
    } catch (error) {
      if (primaryCode(error) !== sqliteBusy || Date.now() > giveUpAt) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs);
    }
  }
};

/**
 * Writes a snapshot of `file` to the new file `copy`, synchronously. Others may read and write meanwhile. The copy
 * contains nothing of deleted rows. Throws SQLite's errors.
 */
export const copyDatabase = (file: string, copy: string): void => {
  using database = openDatabase({ file, busyTimeoutMs: 5_000 });
  database.prepare('vacuum into ?').run(copy);
};

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
