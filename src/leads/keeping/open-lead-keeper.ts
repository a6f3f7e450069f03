import { join } from 'node:path';
import { silentLog } from '../../kit/log.ts';
import { openStore } from '../../store/open-store.ts';
import type { StoreSettings } from '../../store/store-settings.ts';
import { openForgottenPeople } from '../forgotten-people.ts';
import type { LeadKeeper } from '../lead-keeper.ts';

/** The folder of the imported profiles in a data folder. */
export const leadsFolder = (dataDir: string): string => join(dataDir, 'leads');

/**
 * Opens the keeper of the profiles, and the store with the list of forgotten people, both of which work in this thread.
 * Rejects with LeadKeeperError, ConfigError or StoreError.
 */
export const openLeadKeeper = async (settings: StoreSettings): Promise<LeadKeeper> => {
  const store = await openStore(settings, { log: silentLog, inThisThread: true });
  try {
    const people = await openForgottenPeople(store);
    const { openSqliteKeeper } = await import('../sqlite/open-sqlite-keeper.ts');
    const keeper = await openSqliteKeeper({ folder: leadsFolder(settings.dataDir), people });
    return { ...keeper, close: () => store.close() };
  } catch (error) {
    await store.close();
    throw error;
  }
};
