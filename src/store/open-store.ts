import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError } from '../kit/errors.ts';
import type { Log } from '../kit/log.ts';
import { StoreError } from './store-error.ts';
import type { StoreSettings } from './store-settings.ts';
import type { OnGroup, Store } from './store.ts';

export const embeddedStoreFile = (dataDir: string): string => join(dataDir, 'causeway.db');

/**
 * Opens PostgreSQL if the settings name it, else the embedded store, and creates its folder. Loads only the used
 * engine, which works in this thread if that serves nobody meanwhile. Rejects with ConfigError if only a change of the
 * settings, or of the store, can help; with StoreError if the same may work later.
 */
export const openStore = async (
  { databaseUrl, databaseDirectUrl, dataDir }: StoreSettings,
  { log, inThisThread = false, onGroup }: { log: Log; inThisThread?: boolean; onGroup?: OnGroup },
): Promise<Store> => {
  try {
    if (databaseUrl !== null) {
      const { openPostgresStore } = await import('./postgres/open-postgres-store.ts');
      return await openPostgresStore({ url: databaseUrl, directUrl: databaseDirectUrl, log, onGroup });
    }
    const { openSqliteStore } = await import('./sqlite/open-sqlite-store.ts');
    await makeDataDir(dataDir);
    return await openSqliteStore({ file: embeddedStoreFile(dataDir), inThisThread, onGroup });
  } catch (cause) {
    if (!(cause instanceof StoreError)) throw cause;
    const direct = databaseDirectUrl === undefined ? '' : ', DATABASE_DIRECT_URL';
    const names = databaseUrl === null ? 'DATA_DIR' : `DATABASE_URL${direct}`;
    const line = `${names}: the store cannot be opened (${cause.message.split('\n')[0]})`;
    throw cause.reason === 'failed'
      ? new ConfigError(line, { cause })
      : new StoreError('closed', line, { cause });
  }
};

/** Rejects with ConfigError. */
export const makeDataDir = async (path: string): Promise<void> => {
  try {
    await mkdir(path, { recursive: true });
  } catch (cause) {
    throw new ConfigError(`DATA_DIR: the folder ${path} cannot be created`, { cause });
  }
};
