import { join } from 'node:path';
import { silentLog } from '../kit/log.ts';
import { openStore } from '../store/open-store.ts';
import { directAddress, type StoreSettings } from '../store/store-settings.ts';
import type { Store } from '../store/store.ts';
import { openForgottenPeople } from './forgotten-people.ts';
import type { LeadIndex } from './lead-index.ts';

/** The folder of the imported profiles in a data folder. */
export const leadsFolder = (dataDir: string): string => join(dataDir, 'leads');

/**
 * Opens the index of the profiles, and the store with the list of forgotten people, both of which work in this thread.
 * `prepare` runs on the store before the list is read. Rejects with LeadIndexError, ConfigError or StoreError.
 */
export const openLeadIndex = async (
  settings: StoreSettings,
  prepare?: (store: Store) => Promise<unknown>,
): Promise<LeadIndex> => {
  const store = await openStore(settings, { log: silentLog, inThisThread: true });
  try {
    await prepare?.(store);
    const index = await openIndex(settings, store);
    return {
      ...index,
      close: async () => {
        await index.close();
        await store.close();
      },
    };
  } catch (error) {
    await store.close();
    throw error;
  }
};

const openIndex = async (settings: StoreSettings, store: Store): Promise<LeadIndex> => {
  const people = await openForgottenPeople(store);
  const url = directAddress(settings);
  if (url === null) {
    const { openSqliteIndex } = await import('./sqlite/open-sqlite-index.ts');
    return openSqliteIndex({ folder: leadsFolder(settings.dataDir), people });
  }
  const { openPostgresIndex } = await import('./postgres/open-postgres-index.ts');
  return openPostgresIndex({ url, people });
};
