import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError } from '../kit/errors.ts';
import type { Log } from '../kit/log.ts';
import type { StoreSettings } from './store-settings.ts';
import type { Store } from './store.ts';

/** The file of the embedded store in a data folder. */
export const embeddedStoreFile = (dataDir: string): string => join(dataDir, 'causeway.db');

/**
 * Opens the store that the settings name: PostgreSQL, or else the embedded one, whose folder is made when missing.
 * Only the engine that is used is loaded. Rejects with StoreError, and with ConfigError when the folder cannot be made.
 */
export const openStore = async (
  { databaseUrl, dataDir }: StoreSettings,
  { log }: { log: Log },
): Promise<Store> => {
  if (databaseUrl !== null) {
    const { openPostgresStore } = await import('./postgres/open-postgres-store.ts');
    try {
      return await openPostgresStore({ url: databaseUrl, log });
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message.split('\n')[0] : String(cause);
      throw new ConfigError(`DATABASE_URL: the database cannot be opened (${reason})`, { cause });
    }
  }
  const { openSqliteStore } = await import('./sqlite/open-sqlite-store.ts');
  await makeFolder(dataDir);
  return openSqliteStore({ file: embeddedStoreFile(dataDir) });
};

const makeFolder = async (path: string): Promise<void> => {
  try {
    await mkdir(path, { recursive: true });
  } catch (cause) {
    throw new ConfigError(`DATA_DIR: the folder ${path} cannot be made`, { cause });
  }
};
