import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readManifest } from '../../../src/leads/embedded/manifest.ts';
import { openEmbeddedKeeper } from '../../../src/leads/embedded/open-embedded-keeper.ts';
import { openEmbeddedLeads } from '../../../src/leads/embedded/open-embedded-leads.ts';
import { openSegment } from '../../../src/leads/embedded/segment/open-segment.ts';
import { createLog } from '../../../src/kit/log.ts';
import type { BenchEngine, BenchPlace } from './engine.ts';
import { importProfiles } from './import-profiles.ts';
import { searchSource } from './search-source.ts';

const folderOf = ({ folder }: BenchPlace): string => join(folder, 'embedded');

export const embeddedEngine: BenchEngine = {
  load: async (place) => {
    await embeddedEngine.remove(place);
    return importProfiles(await openEmbeddedKeeper({ folder: folderOf(place) }), place);
  },
  open: {
    gateway: async (place) =>
      searchSource(
        await openEmbeddedLeads({
          folder: folderOf(place),
          syntheticProfiles: 0,
          log: createLog('error'),
        }),
      ),
    direct: async (place) => {
      const folder = folderOf(place);
      const manifest = readManifest(folder);
      if (manifest === null) throw new Error(`No profiles are in ${folder}.`);
      const segment = openSegment(join(folder, manifest.base.file));
      return { search: async (query) => segment.search(query, null), close: async () => segment.close() };
    },
  },
  remove: (place) => rm(folderOf(place), { recursive: true, force: true }),
};
