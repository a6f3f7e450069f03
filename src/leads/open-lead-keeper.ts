import { join } from 'node:path';
import { silentLog } from '../kit/log.ts';
import { openStore } from '../store/open-store.ts';
import { directAddress, type StoreSettings } from '../store/store-settings.ts';
import type { Store } from '../store/store.ts';
import { openForgottenPeople } from './forgotten-people.ts';
import type { LeadKeeper } from './lead-keeper.ts';

/** The folder of the imported profiles in a data folder. */
export const leadsFolder = (dataDir: string): string => join(dataDir, 'leads');

/**
 * Opens the keeper of the profiles, and the store with the list of forgotten people, both of which work in this thread.
 * `prepare` runs on the store before the list is read. Rejects with LeadKeeperError, ConfigError or StoreError.
 */
export const openLeadKeeper = async (
  settings: StoreSettings,
  prepare?: (store: Store) => Promise<unknown>,
): Promise<LeadKeeper> => {
  const store = await openStore(settings, { log: silentLog, inThisThread: true });
  try {
    await prepare?.(store);
    const keeper = await openKeeper(settings, store);
    return {
      ...keeper,
      close: async () => {
        await keeper.close();
        await store.close();
      },
    };
  } catch (error) {
    await store.close();
    throw error;
  }
};

const openKeeper = async (settings: StoreSettings, store: Store): Promise<LeadKeeper> => {
  const people = await openForgottenPeople(store);
  const url = directAddress(settings);
  if (url === null) {
    const { openSqliteKeeper } = await import('./sqlite/open-sqlite-keeper.ts');
    return openSqliteKeeper({ folder: leadsFolder(settings.dataDir), people });
  }
  const { openPostgresKeeper } = await import('./postgres/open-postgres-keeper.ts');
  return openPostgresKeeper({ url, people });
};
