import { join } from 'node:path';
import { silentLog } from '../../kit/log.ts';
import { openStore } from '../../store/open-store.ts';
import { directAddress, type StoreSettings } from '../../store/store-settings.ts';
import { openForgottenPeople, type ForgottenPeople } from '../forgotten-people.ts';
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
    const keeper = await openKeeper(settings, people);
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

const openKeeper = async (settings: KeptPlace, people: ForgottenPeople): Promise<LeadKeeper> => {
  const url = directAddress(settings);
  if (url === null) {
    const { openSqliteKeeper } = await import('../sqlite/open-sqlite-keeper.ts');
    return openSqliteKeeper({ folder: leadsFolder(settings.dataDir), people });
  }
  const { openPostgresKeeper } = await import('../postgres/open-postgres-keeper.ts');
  return openPostgresKeeper({ url, people });
};
