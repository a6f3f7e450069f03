import { DatabaseSync } from 'node:sqlite';
import { primaryCode } from './messages.ts';

export interface DatabaseOptions {
  file: string;
  /** How long a command waits for another process's write before it fails. */
  busyTimeoutMs: number;
}

/**
 * A connection with the settings that every part relies on: WAL, an fsync at each commit, foreign keys, and zeros in the
 * place of what is deleted, as the prompts of jobs are when these end.
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
 * Moves what is committed into the file and empties the write-ahead log, whose pages still have what was deleted. Does
 * nothing while somebody else reads or writes, or while the disk is full.
 */
export const emptyLog = (database: DatabaseSync, busyTimeoutMs: number): void => {
  database.exec('pragma busy_timeout = 0');
  try {
    database.exec('pragma wal_checkpoint(truncate)');
  } catch {
    // The log keeps what it has, and the next call tries again.
  }
  database.exec(`pragma busy_timeout = ${busyTimeoutMs}`);
};

const sqliteBusy = 5;
const pauseMs = 20;

/** SQLite does not wait for the change of journal mode by itself when two processes open a new file at once. */
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
 * Writes what is committed in `file` at one moment to the new file `copy`, while others go on reading and writing. Nothing
 * of deleted rows is in the copy. Works synchronously; throws what SQLite throws.
 */
export const copyDatabase = (file: string, copy: string): void => {
  const database = openDatabase({ file, busyTimeoutMs: 5_000 });
  try {
    database.prepare('vacuum into ?').run(copy);
  } finally {
    database.close();
  }
};
