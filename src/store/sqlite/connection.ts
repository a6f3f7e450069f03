import { emptyLog, openDatabase } from './database.ts';
import type { ConnectionSettings, Reply, Request } from './messages.ts';
import { migrateDatabase } from './migrate-database.ts';
import { createReader } from './reader.ts';
import { createWriter } from './writer.ts';

/** One connection to the file. */
export interface Connection {
  take(requests: readonly Request[]): void;
  /** Answers the requests that it has taken, and closes the file. */
  close(): void;
}

/** The prompt of an ended job may stay in the write-ahead log for this time, or as long as somebody reads. */
const emptyLogEveryMs = 10_000;

/** Opens the file in this thread, for the commands of one role. Throws if it cannot be opened. */
export const openConnection = (
  settings: ConnectionSettings,
  send: (replies: Reply[]) => void,
): Connection => {
  const database = openDatabase(settings);
  try {
    migrateDatabase(database, settings.busyTimeoutMs);
  } catch (error) {
    database.close();
    throw error;
  }
  const isWriter = settings.role === 'writer';
  const emptying = isWriter
    ? setInterval(() => emptyLog(database, settings.busyTimeoutMs), emptyLogEveryMs)
    : undefined;
  const { take, drain } = isWriter ? createWriter(database, send) : createReader(database, send);
  return {
    take,
    close: () => {
      clearInterval(emptying);
      drain();
      database.close();
    },
  };
};
