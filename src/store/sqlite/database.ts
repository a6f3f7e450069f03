import { DatabaseSync } from 'node:sqlite';

export interface DatabaseOptions {
  file: string;
  /** How long a command waits for another process's write before it fails. */
  busyTimeoutMs: number;
}

/** A connection with the settings that every part relies on: WAL, an fsync at each commit, foreign keys. */
export const openDatabase = ({ file, busyTimeoutMs }: DatabaseOptions): DatabaseSync => {
  const database = new DatabaseSync(file, {
    timeout: busyTimeoutMs,
    enableForeignKeyConstraints: true,
    enableDoubleQuotedStringLiterals: false,
  });
  try {
    useWriteAheadLog(database, Date.now() + busyTimeoutMs);
    database.exec('pragma synchronous = full');
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
};

const sqliteBusy = 5;
const pauseMs = 20;

/** Extended result codes carry the primary one in their low byte. */
const isBusy = (error: unknown): boolean =>
  error instanceof Error &&
  'errcode' in error &&
  typeof error.errcode === 'number' &&
  (error.errcode & 0xff) === sqliteBusy;

/** SQLite does not wait for the change of journal mode by itself when two processes open a new file at once. */
const useWriteAheadLog = (database: DatabaseSync, giveUpAt: number): void => {
  for (;;) {
    try {
      database.exec('pragma journal_mode = wal');
      return;
    } catch (error) {
      if (!isBusy(error) || Date.now() > giveUpAt) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs);
    }
  }
};
