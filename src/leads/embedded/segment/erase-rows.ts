import { openExisting } from './open-existing.ts';
import { erasedCrc } from './segment-format.ts';

/** In one transaction, at whose end readers wait. */
const rowsAtOnce = 2_000;

/**
 * Overwrites the profiles of `rows` in the segment in `file`, also while others read it; they are passed over from then
 * on. Until the segment is written anew its lists still tell by which words such a row was found. SQLite's journal of
 * the change, which is removed, had the profiles. Readers have their turn after some rows each. Waits for them up to a few
 * seconds, then throws; what was erased until then stays so.
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
