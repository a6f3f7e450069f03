import { DatabaseSync } from 'node:sqlite';
import { primaryCode } from './messages.ts';

export interface DatabaseOptions {
  file: string;
  /** A command fails if another process's write takes longer. */
  busyTimeoutMs: number;
}

/**
 * Opens a connection with the required settings: WAL, an fsync at each commit, foreign keys, and zeros in place of
 * deleted data, such as the prompts of ended jobs.
 */
export const openDatabase = ({ file, busyTimeoutMs }: DatabaseOptions): DatabaseSync => {
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
  const database = openDatabase({ file, busyTimeoutMs: 5_000 });
  try {
    database.prepare('vacuum into ?').run(copy);
  } finally {
    database.close();
  }
};
