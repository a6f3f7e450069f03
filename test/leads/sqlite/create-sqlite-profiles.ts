import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ImportOutcome, ImportRequest, LeadIndex } from '../../../src/leads/lead-index.ts';
import type { Lead } from '../../../src/leads/lead-source.ts';
import { openForgottenPeople } from '../../../src/leads/forgotten-people.ts';
import { openSqliteIndex } from '../../../src/leads/sqlite/open-sqlite-index.ts';
import { createSearch, openToRead } from '../../../src/leads/sqlite/profiles-file.ts';
import { readManifest } from '../../../src/leads/sqlite/profiles-folder.ts';
import { openSqliteStore } from '../../../src/store/sqlite/open-sqlite-store.ts';
import { layStore } from '../../data-template.ts';
import { leadInputOf, type LeadInputOptions } from '../lead-input-of.ts';
import type { TestProfiles } from '../test-profiles.ts';

export interface SqliteProfiles extends TestProfiles {
  folder: string;
  /** The file of the store with the list. */
  storeFile: string;
  /** Imports profiles, as a command of its own. */
  take(
    given: readonly Lead[],
    request?: Partial<Omit<ImportRequest, 'input'>> & { input?: LeadInputOptions },
  ): Promise<ImportOutcome>;
  exported(): Promise<Lead[]>;
  stats(): ReturnType<LeadIndex['stats']>;
  /** The file that the manifest names. */
  file(): string;
}

const { signal } = new AbortController();

/** An empty folder of profiles. */
export const createSqliteProfiles = async (): Promise<SqliteProfiles> => {
  const home = await mkdtemp(join(tmpdir(), 'causeway-leads-'));
  const folder = join(home, 'leads');
  const storeFile = layStore(join(home, 'store.db'));
  const store = await openSqliteStore({ file: storeFile, inThisThread: true });
  const people = await openForgottenPeople(store);
  const openKeeper = (list = people): Promise<LeadIndex> => openSqliteIndex({ folder, people: list });
  return {
    folder,
    storeFile,
    people,
    openKeeper,
    take: async (given, { input, ...request } = {}) =>
      (await openKeeper()).importLeads({
        signal,
        mode: 'upsert',
        ...request,
        input: leadInputOf(given, input),
      }),
    exported: async () => Array.fromAsync((await openKeeper()).exportLeads({ signal })),
    stats: async () => (await openKeeper()).stats(),
    file: () => join(folder, readManifest(folder)?.file ?? ''),
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
