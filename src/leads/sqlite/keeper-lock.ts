import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { busyError } from '../keeper-errors.ts';
import { LeadKeeperError } from '../lead-keeper.ts';
import { lockFile } from './profiles-folder.ts';
import { toKeeperError } from './to-keeper-error.ts';

/** How long a change waits for another one, which may be as short as a switch of generations. */
const waitMs = 500;

/**
 * Locks the profiles in `folder` for one change. The lock is SQLite's own, on a separate file, so the operating system
 * releases it however the process ends. It writes nothing, so it works on a full disk too. Throws LeadKeeperError
 * `busy` while another change runs. Waits synchronously, by default for half a second.
 */
export const lockKeeper = (folder: string, timeout = waitMs): { release(): void } => {
  let database: DatabaseSync | null = null;
  try {
    const opened = new DatabaseSync(lockFile(folder), { timeout });
    database = opened;
    opened.exec('PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    return { release: () => opened.close() };
  } catch (error) {
    database?.close();
    throw isLocked(error) ? busyError(error) : toKeeperError(error, folder);
  }
};

const retryMs = 100;

/** Takes the lock after the current change ends, even after hours. Never blocks the thread. */
export const waitForLock = async (folder: string): Promise<{ release(): void }> => {
  for (;;) {
    try {
      return lockKeeper(folder, 0);
    } catch (error) {
      if (!(error instanceof LeadKeeperError && error.problem === 'busy')) throw error;
    }
    await delay(retryMs);
  }
};

/** SQLITE_BUSY. */
const isLocked = (error: unknown): boolean =>
  error instanceof Error && 'errcode' in error && error.errcode === 5;
