import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { LeadKeeper } from '../../../src/leads/lead-keeper.ts';
import type { Lead, LeadQuery, LeadSource } from '../../../src/leads/lead-source.ts';
import { createReferenceSearch } from '../reference-search.ts';
import { generateLeads } from '../../../src/leads/synthetic/generate-leads.ts';
import { usernameKey } from '../../../src/leads/query/username-key.ts';
import { arbitraryLeads, arbitraryQuery } from '../arbitrary-leads.ts';
import { createLeadDatabase, importAll, noAbort, waitUntil, type LeadDatabase } from './lead-database.ts';
import { hasService } from '../../outside-services.ts';

describe.runIf(hasService('PostgreSQL'))('the leads in PostgreSQL', () => {
  let database: LeadDatabase;
  let keeper: LeadKeeper;
  let source: LeadSource;
  beforeAll(async () => {
    database = createLeadDatabase();
    keeper = await database.openKeeper({ partSizes: [3, 5, 8] });
    await importAll(keeper, []);
    source = await database.openLeads({ limits: { lookEveryMs: 60_000 } });
    await waitUntil(() => source.status().ready);
  });
  afterAll(() => database.remove());

  const search = (query: LeadQuery): Promise<Lead[]> => source.search(query, { signal: noAbort() });

  it('answer every query as the reference does', async () => {
    let matches = 0;
    await fc.assert(
      fc.asyncProperty(
        arbitraryLeads.map(distinctPeople),
        fc.array(arbitraryQuery, { minLength: 30, maxLength: 45 }),
        async (leads, queries) => {
          await importAll(keeper, leads, { mode: 'replace' });
          const reference = createReferenceSearch(leads);
          for (const query of queries) {
            const expected = reference(query);
            matches += expected.length;
            expect(await search(query)).toEqual(expected);
          }
        },
      ),
      { numRuns: 7 },
    );
    expect(matches).toBeGreaterThan(10);
  });

  it('answer queries made of the words of generated profiles as the reference does', async () => {
    const leads = [...generateLeads({ seed: 5, profiles: 3000 })];
    const wide = await database.openKeeper({ partSizes: [300, 1000] });
    await importAll(wide, leads.slice(0, 2900), { mode: 'replace' });
    await importAll(wide, leads.slice(2900));
    const reference = createReferenceSearch(leads);
    const pick = fc.constantFrom(...leads);
    const pieceOf = (text: string): fc.Arbitrary<string> =>
      fc
        .tuple(fc.nat(text.length), fc.integer({ min: 1, max: 12 }))
        .map(([start, length]) => text.slice(start, start + length));
    const query = fc.tuple(pick, pick).chain(([one, other]) =>
      fc.record(
        {
          query: fc.oneof(pieceOf(one.bio ?? ''), pieceOf(one.username), pieceOf(one.full_name)),
          country: fc.constant(other.country ?? 'US'),
          category: fc.constant(one.category ?? 'Fashion'),
          gender: fc.constant(other.gender ?? 'male'),
          minFollowers: fc.constant(Math.min(one.followers, other.followers)),
          maxFollowers: fc.constant(Math.max(one.followers, other.followers)),
          limit: fc.integer({ min: 1, max: 100 }),
        },
        { requiredKeys: ['limit'] },
      ),
    );
    await fc.assert(
      fc.asyncProperty(query, async (wanted) => {
        expect(await search(wanted)).toEqual(reference(wanted));
      }),
      { numRuns: 100 },
    );
  });
});

/** The last profile of each person, as an import takes them. */
const distinctPeople = (leads: readonly Lead[]): Lead[] => [
  ...new Map(leads.map((lead) => [usernameKey(lead.username), lead])).values(),
];
