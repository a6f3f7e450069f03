import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError } from '../kit/errors.ts';
import type { Log } from '../kit/log.ts';
import type { StoreSettings } from './store-settings.ts';
import type { OnGroup, Store } from './store.ts';

export const embeddedStoreFile = (dataDir: string): string => join(dataDir, 'causeway.db');

/**
 * Opens PostgreSQL if the settings name it, else the embedded store, and creates its folder. Loads only the used
 * engine, which works in this thread if that serves nobody meanwhile. Rejects with StoreError, or with ConfigError if the folder cannot be created.
 */
export const openStore = async (
  { databaseUrl, databaseDirectUrl, dataDir }: StoreSettings,
  { log, inThisThread = false, onGroup }: { log: Log; inThisThread?: boolean; onGroup?: OnGroup },
): Promise<Store> => {
  if (databaseUrl !== null) {
    const { openPostgresStore } = await import('./postgres/open-postgres-store.ts');
    try {
      return await openPostgresStore({ url: databaseUrl, directUrl: databaseDirectUrl, log, onGroup });
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message.split('\n')[0] : String(cause);
      const names = databaseDirectUrl === undefined ? 'DATABASE_URL' : 'DATABASE_URL, DATABASE_DIRECT_URL';
      throw new ConfigError(`${names}: the database cannot be opened (${reason})`, { cause });
    }
  }
  const { openSqliteStore } = await import('./sqlite/open-sqlite-store.ts');
  await makeFolder(dataDir);
  return openSqliteStore({ file: embeddedStoreFile(dataDir), inThisThread, onGroup });
};

const makeFolder = async (path: string): Promise<void> => {
  try {
    await mkdir(path, { recursive: true });
  } catch (cause) {
    throw new ConfigError(`DATA_DIR: the folder ${path} cannot be created`, { cause });
  }
};
