import { openExisting } from './open-existing.ts';
import { erasedCrc } from './segment-format.ts';

/** Rows per transaction. Readers wait at the end of each. */
const rowsAtOnce = 2_000;

/**
 * Overwrites the profiles of `rows` in the segment `file`, also while others read it. Readers then skip these rows. The
 * segment's lists still tell which words such a row had, until it is rewritten. SQLite's journal contained the profiles
 * and is removed. Waits up to a few seconds for readers, then throws; rows erased by then stay erased.
 */
export const eraseRows = (file: string, rows: Iterable<number>): void => {
  const database = openExisting(file, { timeoutMs: 10_000 });
  try {
    // Spilling would lock readers out before the end of a transaction.
    database.exec(
      'PRAGMA secure_delete = ON; PRAGMA synchronous = FULL; PRAGMA journal_mode = DELETE; PRAGMA cache_spill = OFF',
    );
    const erase = database.prepare('UPDATE profiles SET lead = NULL, crc = ? WHERE row = ?');
    database.exec('BEGIN IMMEDIATE');
    let erased = 0;
    for (const row of rows) {
      erase.run(erasedCrc, row);
      erased += 1;
      if (erased % rowsAtOnce === 0) database.exec('COMMIT; BEGIN IMMEDIATE');
    }
    database.exec('COMMIT');
  } finally {
    database.close();
  }
};
