import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';

/**
 * Opens an existing SQLite file for reading and writing, even if it is only read: a read-only connection could not roll
 * back after a crash. Waits for locks up to `timeoutMs`.
 */
export const openExisting = (file: string, { timeoutMs }: { timeoutMs: number }): DatabaseSync => {
  const url = pathToFileURL(file);
  url.searchParams.set('mode', 'rw');
  return new DatabaseSync(url, { timeout: timeoutMs });
};

/** SQLITE_ERROR (unexpected tables), SQLITE_CORRUPT and SQLITE_NOTADB. */
const damageCodes = [1, 11, 26];

/** Returns true if SQLite's `error` means that the file is not as it was written. */
export const isDamagedDatabase = (error: unknown): boolean =>
  error instanceof Error &&
  'errcode' in error &&
  typeof error.errcode === 'number' &&
  damageCodes.includes(error.errcode % 256);
