import { openDatabase } from './database.ts';

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
