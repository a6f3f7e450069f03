import { join } from 'node:path';
import { silentLog } from '../../kit/log.ts';
import { openStore } from '../../store/open-store.ts';
import type { StoreSettings } from '../../store/store-settings.ts';
import { openForgottenPeople } from '../forgotten-people.ts';
import type { LeadKeeper } from '../lead-keeper.ts';
import { moveForgottenLists, type OldForgottenLists } from '../move-forgotten-list.ts';

/** The folder of the imported profiles in a data folder. */
export const leadsFolder = (dataDir: string): string => join(dataDir, 'leads');

/** Where the profiles are, and the list of forgotten people. */
export interface KeptPlace extends StoreSettings, Pick<OldForgottenLists, 'formerPlace'> {}

/** Returns the settings of `config` that a thread can be sent. */
export const keptPlaceOf = ({
  dataDir,
  databaseUrl,
  databaseDirectUrl,
  formerPlace,
}: KeptPlace): KeptPlace => ({
  dataDir,
  databaseUrl,
  databaseDirectUrl,
  formerPlace,
});

/**
 * Opens the keeper of the profiles, and the store with the list of forgotten people, both of which work in this thread.
 * Rejects with LeadKeeperError, ConfigError or StoreError.
 */
export const openLeadKeeper = async (settings: KeptPlace): Promise<LeadKeeper> => {
  const store = await openStore(settings, { log: silentLog, inThisThread: true });
  try {
    await moveForgottenLists(settings, store);
    const people = await openForgottenPeople(store);
    const { openSqliteKeeper } = await import('../sqlite/open-sqlite-keeper.ts');
    const keeper = await openSqliteKeeper({ folder: leadsFolder(settings.dataDir), people });
    return { ...keeper, close: () => store.close() };
  } catch (error) {
    await store.close();
    throw error;
  }
};
