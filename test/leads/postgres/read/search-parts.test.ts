import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Lead } from '../../../../src/leads/lead-source.ts';
import { searchParts } from '../../../../src/leads/postgres/read/search-parts.ts';
import { createReferenceSearch } from '../../reference-search.ts';
import { generateLeads } from '../../../../src/leads/synthetic/generate-leads.ts';
import { arbitraryLeads, arbitraryQuery } from '../../arbitrary-leads.ts';
import { buildLead } from '../../build-lead.ts';
import { createMemoryParts } from '../memory-parts.ts';

const names = (leads: readonly Lead[]): string[] => leads.map(({ username }) => username);

describe('a search of parts', () => {
  it('answers as the reference does, whatever the parts, their overlaps and what is gone', async () => {
    let matches = 0;
    const partSize = fc.integer({ min: 1, max: 12 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ leads: arbitraryLeads, partSize }), { minLength: 1, maxLength: 4 }),
        fc.array(arbitraryQuery, { minLength: 20, maxLength: 40 }),
        async (runs, queries) => {
          // A username is in force in the last run that has it; in the others it is gone.
          const owners = new Map(runs.flatMap(({ leads }, run) => names(leads).map((name) => [name, run])));
          const { parts, reader } = createMemoryParts(
            runs.map(({ leads, partSize }, run) => ({
              leads,
              partSize,
              gone: new Set(names(leads).filter((name) => owners.get(name) !== run)),
            })),
          );
          const reference = createReferenceSearch(
            runs.flatMap(({ leads }, run) => leads.filter(({ username }) => owners.get(username) === run)),
          );
          for (const query of queries) {
            const expected = reference(query);
            matches += expected.length;
            expect(await searchParts(query, { parts, reader })).toEqual(expected);
          }
        },
      ),
      { numRuns: 40 },
    );
    expect(matches).toBeGreaterThan(500);
  });

  const leads = [...generateLeads({ seed: 7, profiles: 3000 })];
  const reference = createReferenceSearch(leads);

  it('answers beginnings with many terms, with few, and those that meet the end of a block', async () => {
    const { parts, reader } = createMemoryParts([{ leads, partSize: 1300 }]);
    const words = leads.flatMap(({ username, full_name: name }) => [
      ...username.split(/[._]/),
      ...name.split(' '),
    ]);
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...words), fc.integer({ min: 1, max: 9 }), async (word, length) => {
        const query = { query: word.slice(0, length), limit: 20 };
        expect(names(await searchParts(query, { parts, reader }))).toEqual(names(reference(query)));
      }),
      { numRuns: 100 },
    );
  });

  it('looks into the first part alone when that has enough', async () => {
    const { parts, reader, reads } = createMemoryParts([{ leads, partSize: 500 }]);
    expect(names(await searchParts({ limit: 50 }, { parts, reader }))).toEqual(
      names(reference({ limit: 50 })),
    );
    expect(reads).toEqual(['leads 50']);
    await searchParts({ gender: 'female', limit: 50 }, { parts, reader });
    expect(reads.slice(1)).toEqual(['1 in 1', 'leads 50']);
  });

  it('reads all parts in a few rounds when next to nothing matches', async () => {
    const { parts, reader, reads } = createMemoryParts([{ leads, partSize: 50 }]);
    expect(parts).toHaveLength(60);
    expect(await searchParts({ query: 'nobody', limit: 50 }, { parts, reader })).toEqual([]);
    expect(reads).toEqual(['1 in 1', '1 in 3', '1 in 12', '1 in 44', 'leads 0']);
  });

  it('reads only the parts with followers in the range', async () => {
    const { parts, reader, reads } = createMemoryParts([{ leads, partSize: 50 }]);
    const query = { gender: 'male' as const, minFollowers: 1000, maxFollowers: 1001, limit: 50 };
    expect(await searchParts(query, { parts, reader })).toEqual(reference(query));
    expect(reads[0]).toBe('1 in 1');
    expect(reads.length).toBeLessThanOrEqual(3);
  });

  it('reads of many words the rarest first, and the others only where these meet', async () => {
    const { parts, reader, reads } = createMemoryParts([{ leads, partSize: 3000 }]);
    const common = 'love life travel music fashion beauty food coach home family photo art';
    expect(await searchParts({ query: `zzyzx ${common}`, limit: 50 }, { parts, reader })).toEqual([]);
    expect(reads).toEqual(['sizes of 13', '3 in 1', 'leads 0']);
    const { bio = '', username } = leads.find(({ bio = '' }) => /^(?:\p{L}{4,}[ \n]){5,}/v.test(bio)) ?? {};
    const found = await searchParts({ query: bio, limit: 50 }, { parts, reader });
    expect(names(found)).toContain(username);
    expect(reads.slice(4, 6)).toEqual(['3 in 1', '2 in 1']);
  });

  it('reads no profile that others are certainly ahead of', async () => {
    const low = Array.from({ length: 500 }, (_, index) =>
      buildLead({ username: `low${index}`, followers: 10 }),
    );
    const high = Array.from({ length: 600 }, (_, index) =>
      buildLead({ username: `high${index}`, followers: 1000 + index }),
    );
    const { parts, reader, reads } = createMemoryParts([
      { leads: [...high, ...low], partSize: 2000 },
      { leads: [buildLead({ username: 'new', followers: 1_000_000 })], partSize: 1 },
      { leads: low.map((lead) => ({ ...lead, username: `other${lead.username}` })), partSize: 500 },
    ]);
    const found = await searchParts({ query: 'some', limit: 10 }, { parts, reader });
    expect(names(found)).toEqual(['new', ...Array.from({ length: 9 }, (_, index) => `high${599 - index}`)]);
    expect(reads.at(-1)).toBe('leads 11');
  });

  it('finds those with as many followers in every part', async () => {
    const [first, second] = ['b', 'a'].map((username) => buildLead({ username, followers: 500 }));
    const { parts, reader } = createMemoryParts(
      [first, second].map((lead) => ({ leads: lead === undefined ? [] : [lead], partSize: 1 })),
    );
    expect(names(await searchParts({ limit: 1 }, { parts, reader }))).toEqual(['a']);
  });
});
