import { DatabaseSync } from 'node:sqlite';
import { LeadKeeperError } from '../lead-keeper.ts';
import { lockFile } from './lead-folder.ts';

/** How long a change waits for another one, that may be as short as a switch of generations. */
const waitMs = 500;

/**
 * Takes the profiles in `folder` for one change. The lock is SQLite's own, on a file of its own, so the operating
 * system gives it back however the process ends. Throws LeadKeeperError `busy`. Waits synchronously.
 */
export const lockKeeper = (folder: string): { release(): void } => {
  const database = new DatabaseSync(lockFile(folder), { timeout: waitMs });
  try {
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (isLocked(error))
      throw new LeadKeeperError(
        'busy',
        'Another import or change of the profiles is under way. Try again when it has ended.',
        { cause: error },
      );
    throw error;
  }
  return { release: () => database.close() };
};

/** Whether a change is under way in `folder`, by this process or another. */
export const isKeeperLocked = (folder: string): boolean => {
  const database = new DatabaseSync(lockFile(folder), { timeout: 0 });
  try {
    database.prepare('SELECT count(*) FROM sqlite_schema').get();
    return false;
  } catch (error) {
    if (isLocked(error)) return true;
    throw error;
  } finally {
    database.close();
  }
};

const isLocked = (error: unknown): boolean =>
  error instanceof Error && 'errcode' in error && error.errcode === sqliteBusy;

const sqliteBusy = 5;
