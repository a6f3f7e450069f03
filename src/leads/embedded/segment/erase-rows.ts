import { openExisting } from './open-existing.ts';
import { erasedCrc } from './segment-format.ts';

/**
 * Overwrites the profiles of `rows` in the segment in `file`, also while others read it; they are passed over from then
 * on. Until the segment is written anew its lists still tell by which words such a row was found. SQLite's journal of
 * the change, which is removed, had the profiles. Waits for readers up to a few seconds, then throws.
 */
export const eraseRows = (file: string, rows: Iterable<number>): void => {
  const database = openExisting(file, { timeoutMs: 10_000 });
  try {
    database.exec('PRAGMA secure_delete = ON; PRAGMA synchronous = FULL; PRAGMA journal_mode = DELETE');
    const erase = database.prepare('UPDATE profiles SET lead = NULL, crc = ? WHERE row = ?');
    database.exec('BEGIN IMMEDIATE');
    for (const row of rows) erase.run(erasedCrc, row);
    database.exec('COMMIT');
  } finally {
    database.close();
  }
};
