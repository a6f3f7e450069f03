import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openForgottenPeople } from '../../../src/leads/forgotten-people.ts';
import { openSqliteIndex } from '../../../src/leads/sqlite/open-sqlite-index.ts';
import { createSearch, openToRead } from '../../../src/leads/sqlite/profiles-file.ts';
import { readManifest } from '../../../src/leads/sqlite/profiles-folder.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open-sqlite-store.ts';
import { layStore } from '../../data-template.ts';
import type { TestProfiles } from '../test-profiles.ts';

export interface SqliteProfiles extends TestProfiles {
  folder: string;
  /** The file of the store with the list. */
  storeFile: string;
}

/** An empty folder of profiles. */
export const createSqliteProfiles = async (): Promise<SqliteProfiles> => {
  const home = await mkdtemp(join(tmpdir(), 'causeway-leads-'));
  const folder = join(home, 'leads');
  const storeFile = layStore(join(home, 'store.db'));
  const store = await openSqliteStore({ file: storeFile, inThisThread: true });
  const people = await openForgottenPeople(store);
  return {
    folder,
    storeFile,
    people,
    openKeeper: (list = people) => openSqliteIndex({ folder, people: list }),
    search: async (queries) => {
      const manifest = readManifest(folder);
      if (manifest === null) return queries.map(() => []);
      const database = openToRead(join(folder, manifest.file), { timeoutMs: 60_000 });
      try {
        return queries.map(createSearch(database));
      } finally {
        database.close();
      }
    },
    facets: async () => readManifest(folder)?.facets,
    remove: async () => {
      await store.close();
      await rm(home, { recursive: true });
    },
  };
};
