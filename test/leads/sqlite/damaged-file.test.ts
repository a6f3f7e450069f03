import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Lead, LeadQuery } from '../../../src/leads/lead-source.ts';
import {
  createSearch,
  isDamage,
  openToRead,
  ProfilesDamagedError,
} from '../../../src/leads/sqlite/profiles-file.ts';
import { assertWhole, readManifest } from '../../../src/leads/sqlite/profiles-folder.ts';
import { generateLeads } from '../../../src/leads/synthetic/generate-leads.ts';
import { leadInputOf } from '../lead-input-of.ts';
import { createSqliteProfiles, type SqliteProfiles } from './create-sqlite-profiles.ts';

const leads = [...generateLeads({ seed: 3, profiles: 400 })];
const queries: LeadQuery[] = [
  { limit: 100 },
  { query: 'fit', limit: 100 },
  { query: 'travel', country: 'US', limit: 20 },
  { minFollowers: 1_000, maxFollowers: 5_000, limit: 100 },
  ...leads.slice(0, 20).map(({ username }) => ({ query: username, limit: 5 })),
];

let made: SqliteProfiles;
beforeEach(async () => {
  made = await createSqliteProfiles();
  const { signal } = new AbortController();
  await (await made.openKeeper()).importLeads({ input: leadInputOf(leads), mode: 'upsert', signal });
});
afterEach(() => made.remove());

/** Asks all queries. Damage that is found ends each of them. */
const ask = (file: string): (Lead[] | 'damaged')[] => {
  const orDamaged = <T>(work: () => T): T | 'damaged' => {
    try {
      return work();
    } catch (error) {
      if (isDamage(error)) return 'damaged';
      throw error;
    }
  };
  const database = orDamaged(() => openToRead(file, { timeoutMs: 0 }));
  if (database === 'damaged') return ['damaged'];
  try {
    const search = orDamaged(() => createSearch(database));
    return search === 'damaged' ? ['damaged'] : queries.map((query) => orDamaged(() => search(query)));
  } finally {
    database.close();
  }
};

describe('a damaged file of profiles', () => {
  it('is answered from or told as damaged, wherever a part of it was overwritten', () => {
    const whole = readFileSync(join(made.folder, readManifest(made.folder)?.file ?? ''));
    const copy = join(dirname(made.folder), 'copy.db');
    let damaged = 0;
    fc.assert(
      fc.property(
        fc.nat(whole.length - 1),
        fc.constantFrom(1, 100, 8_192, 60_000),
        fc.constantFrom(0, 0x77, 0xff),
        (start, length, byte) => {
          writeFileSync(copy, Buffer.from(whole).fill(byte, start, Math.min(start + length, whole.length)));
          damaged += ask(copy).filter((answer) => answer === 'damaged').length;
        },
      ),
      { numRuns: 60 },
    );
    expect(damaged).toBeGreaterThan(50);
  });

  it('is told as damaged if its end or its beginning is missing', () => {
    const file = join(made.folder, readManifest(made.folder)?.file ?? '');
    const whole = readFileSync(file);
    for (const part of [whole.subarray(0, 9_000), whole.subarray(8_192), Buffer.alloc(0)]) {
      writeFileSync(file, part);
      expect(ask(file)).toContain('damaged');
    }
  });

  it('is judged after a deletion that locks it, which nobody waits for', () => {
    const manifest = { file: readManifest(made.folder)?.file ?? '' };
    const file = join(made.folder, manifest.file);
    const deletion = new DatabaseSync(file);
    deletion.exec('BEGIN EXCLUSIVE; DROP TABLE people');
    const startMs = performance.now();
    assertWhole(made.folder, manifest);
    expect(performance.now() - startMs).toBeLessThan(10_000);
    deletion.exec('COMMIT');
    deletion.close();
    expect(() => assertWhole(made.folder, manifest)).toThrow(ProfilesDamagedError);
  });
});
