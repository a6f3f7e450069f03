import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { buildFts5 } from '../fts5/build-fts5.ts';
import { openFts5 } from '../fts5/open-fts5.ts';
import { createProfiles, firstProfiles } from '../generate-profiles.ts';
import type { BenchEngine, BenchPlace } from './engine.ts';

const fileOf = ({ folder }: BenchPlace): string => join(folder, 'fts5.db');

/** SQLite's own full-text index, to compare with; it is no part of the gateway. */
export const fts5Engine: BenchEngine = {
  load: async (place) => {
    const file = fileOf(place);
    await rm(file, { force: true });
    buildFts5(file, firstProfiles(createProfiles(place.seed), place.profileCount));
    const { size } = await stat(file);
    return { profiles: place.profileCount, bytes: size, input: 'generator' };
  },
  open: {
    direct: async (place) => {
      const index = openFts5(fileOf(place));
      return { search: async (query) => index.search(query), close: async () => index.close() };
    },
  },
  remove: async (place) => rm(fileOf(place), { force: true }),
};
