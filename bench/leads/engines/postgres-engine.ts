import { openPostgresKeeper } from '../../../src/leads/postgres/open-postgres-keeper.ts';
import { openPostgresLeads } from '../../../src/leads/postgres/open-postgres-leads.ts';
import { createLog } from '../../../src/kit/log.ts';
import { benchDatabaseUrl, createBenchDatabase, dropBenchDatabase } from './bench-database.ts';
import type { BenchEngine } from './engine.ts';
import { importProfiles } from './import-profiles.ts';
import { searchSource } from './search-source.ts';

export const postgresEngine: BenchEngine = {
  load: async (place) => {
    await createBenchDatabase(place);
    return importProfiles(await openPostgresKeeper({ url: benchDatabaseUrl(place) }), place);
  },
  open: {
    gateway: async (place) =>
      searchSource(await openPostgresLeads({ url: benchDatabaseUrl(place), log: createLog('error') })),
  },
  remove: dropBenchDatabase,
};
