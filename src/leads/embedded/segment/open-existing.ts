import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';

/**
 * Opens a SQLite file that must be there, for reading and writing even where it is only read: a connection for reading
 * only could not roll back what a crash left half done. A lock is waited for up to `timeoutMs`.
 */
export const openExisting = (file: string, { timeoutMs }: { timeoutMs: number }): DatabaseSync => {
  const url = pathToFileURL(file);
  url.searchParams.set('mode', 'rw');
  return new DatabaseSync(url, { timeout: timeoutMs });
};
