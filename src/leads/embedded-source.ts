import type { Log } from '../kit/log.ts';
import type { ForgottenPeople } from './forgotten-people.ts';
import type { LeadSource } from './lead-source.ts';

export interface EmbeddedLeadsOptions {
  /** The folder of the imported profiles, or of fictional ones. */
  folder: string;
  /** The address of PostgreSQL itself, which then has the imported profiles; null: they are in the folder. */
  databaseUrl: string | null;
  people: ForgottenPeople;
  /** Erases forgotten people who are still among the imported profiles. */
  sweep: () => Promise<void>;
  /** Whether no other source is configured. */
  isAlone: boolean;
  /** How many fictional profiles are generated where nothing was imported. */
  syntheticProfiles: number;
  log: Log;
}

/** The first start generates the fictional profiles in a few seconds; its first search waits for them. */
const firstSearchWaitMs = 10_000;
const seed = 1;

/** Opens the imported profiles. Ones that cannot be searched yet are not ready. */
export const openEmbeddedLeads = async (options: EmbeddedLeadsOptions): Promise<LeadSource> => {
  const { databaseUrl: url, folder, isAlone, syntheticProfiles, people, sweep, log } = options;
  const openFolder = async (): Promise<LeadSource> => {
    const { openSqliteLeads } = await import('./sqlite/open-sqlite-leads.ts');
    return openSqliteLeads({
      folder,
      fictional: { seed, profiles: isAlone ? syntheticProfiles : 0 },
      people,
      sweep,
      log,
      readyWaitMs: isAlone ? firstSearchWaitMs : 0,
    });
  };
  if (url === null) return openFolder();
  const { leftInFolder } = await import('./sqlite/profiles-folder.ts');
  const left = leftInFolder(folder);
  if (left !== null) log.warn(left);
  const { openPostgresLeads } = await import('./postgres/open-postgres-leads.ts');
  const openFictional = left === null && isAlone ? openFolder : null;
  return openPostgresLeads({ url, people, sweep, log, openFictional });
};
