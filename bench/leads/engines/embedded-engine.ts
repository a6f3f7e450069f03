import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createLog } from '../../../src/kit/log.ts';
import { openForgottenPeople } from '../../../src/leads/forgotten-people.ts';
import { leadsFolder, openLeadIndex } from '../../../src/leads/open-lead-index.ts';
import { openSqliteLeads } from '../../../src/leads/sqlite/open-sqlite-leads.ts';
import { createSearch, openToRead } from '../../../src/leads/sqlite/profiles-file.ts';
import { readManifest } from '../../../src/leads/sqlite/profiles-folder.ts';
import { openStore } from '../../../src/store/open-store.ts';
import type { BenchEngine, BenchPlace } from './engine.ts';
import { importProfiles } from './import-profiles.ts';
import { searchSource } from './search-source.ts';

/** A data folder, with the profiles and a store that has the list of forgotten people. */
const settingsOf = ({ folder }: BenchPlace) => ({
  dataDir: join(folder, 'embedded'),
  databaseUrl: null,
});

export const embeddedEngine: BenchEngine = {
  load: async (place) => {
    await embeddedEngine.remove(place);
    return importProfiles(await openLeadIndex(settingsOf(place)), place);
  },
  open: {
    gateway: async (place) => {
      const settings = settingsOf(place);
      const log = createLog('error');
      const store = await openStore(settings, { log });
      const source = await searchSource(
        await openSqliteLeads({
          folder: leadsFolder(settings.dataDir),
          fictional: { seed: 1, profiles: 0 },
          people: await openForgottenPeople(store),
          sweep: () => Promise.resolve(),
          log,
        }),
      );
      return {
        search: source.search,
        close: async () => {
          await source.close();
          await store.close();
        },
      };
    },
    direct: async (place) => {
      const folder = leadsFolder(settingsOf(place).dataDir);
      const manifest = readManifest(folder);
      if (manifest === null) throw new Error(`No profiles are in ${folder}.`);
      const database = openToRead(join(folder, manifest.file), { timeoutMs: 1_000 });
      const search = createSearch(database);
      return { search: async (query) => search(query), close: async () => database.close() };
    },
  },
  environment: (place) => ({ DATA_DIR: settingsOf(place).dataDir }),
  remove: (place) => rm(settingsOf(place).dataDir, { recursive: true, force: true }),
};
