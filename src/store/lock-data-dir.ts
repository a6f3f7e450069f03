import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ConfigError } from '../kit/errors.ts';

/**
 * Locks a data folder for this process. The lock is SQLite's, on a separate file, so the operating system releases it
 * however the process ends. Throws ConfigError if another gateway has the folder.
 */
export const lockDataDir = (dataDir: string): { release(): void } => {
  const database = new DatabaseSync(join(dataDir, 'gateway.lock'));
  try {
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (error instanceof Error && /locked|busy/i.test(error.message))
      throw new ConfigError(
        `DATA_DIR: ${dataDir} is in use by another gateway; stop it or choose another folder`,
      );
    throw error;
  }
  return { release: () => database.close() };
};
