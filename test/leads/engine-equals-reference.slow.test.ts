import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Lead, LeadQuery } from '../../src/leads/lead-source.ts';
import { compareLeads } from '../../src/leads/query/lead-filters.ts';
import { generateLeads } from '../../src/leads/synthetic/generate-leads.ts';
import { arbitraryLeads, arbitraryQuery } from './arbitrary-leads.ts';
import { buildLead } from './build-lead.ts';
import { leadEngines } from './lead-engines.ts';
import { leadInputOf } from './lead-input-of.ts';
import { createReferenceSearch } from './reference-search.ts';
import type { TestProfiles } from './test-profiles.ts';

const { signal } = new AbortController();

describe.each(leadEngines())('profiles in $kind', ({ create }) => {
  let profiles: TestProfiles;
  beforeEach(async () => {
    profiles = await create();
  });
  afterEach(() => profiles.remove());

  const take = async (leads: readonly Lead[], mode: 'upsert' | 'replace' = 'replace'): Promise<void> => {
    const keeper = await profiles.openKeeper();
    const input = leadInputOf(leads, { batchRows: 1_000 });
    expect(await keeper.importLeads({ input, mode, signal })).toMatchObject({ rows: leads.length });
    await keeper.close();
  };
  /** Returns how many profiles were found, all together. */
  const expectAsReference = async (
    leads: readonly Lead[],
    queries: readonly LeadQuery[],
  ): Promise<number> => {
    const expected = queries.map(createReferenceSearch(leads));
    expect(await profiles.search(queries)).toEqual(expected);
    return expected.flat().length;
  };

  it('are found by every query as the reference finds them, also after changes', async () => {
    let matches = 0;
    await fc.assert(
      fc.asyncProperty(
        arbitraryLeads.filter((leads) => leads.length > 0),
        fc.array(arbitraryQuery, { minLength: 20, maxLength: 40 }),
        fc.nat(30),
        fc.array(fc.nat(29), { maxLength: 5 }),
        async (leads, queries, count, places) => {
          // Some come first, and the first of them again with the others.
          await take(leads.slice(0, count + 1).map((lead) => ({ ...lead, followers: 7, bio: 'former' })));
          await take(leads, 'upsert');
          const gone = leads.filter((_, place) => places.includes(place)).map(({ username }) => username);
          const keeper = await profiles.openKeeper();
          expect(await keeper.forget(gone, { signal })).toEqual({ removed: gone.length });
          const remaining = leads.filter((_, place) => !places.includes(place));
          matches += await expectAsReference(remaining, queries);
          await keeper.remember(gone);
          await keeper.close();
        },
      ),
      { numRuns: 60 },
    );
    expect(matches).toBeGreaterThan(100);
  });

  it('are found by their own words and fields as the reference finds them', async () => {
    const leads = [...generateLeads({ seed: 5, profiles: 1_500 })];
    await take(leads);
    const queries = fc.sample(queryFrom(leads), 400);
    expect(await expectAsReference(leads, queries)).toBeGreaterThan(100);
  });

  it('are found by words and beginnings that most of them have, in every range', async () => {
    const words = ['alpha', 'beta', 'gamma', 'delta', 'epsilon'];
    const leads = Array.from({ length: 9_000 }, (_, index) =>
      buildLead({
        username: `user${(index * 7919) % 10_007}`,
        followers: 1_000_000 - index,
        bio: words
          .filter((_word, place) => (Math.imul(index, 2_654_435_761 + 2 * place) >>> 13) % (place + 2) < 1)
          .join(' '),
      }),
    );
    await take(leads);
    const query = fc
      .record({
        some: fc.subarray(words, { minLength: 1 }),
        letters: fc.constantFrom(3, 4, 7),
        range: fc.option(fc.tuple(fc.nat(9_000), fc.nat(9_000)), { nil: undefined }),
        limit: fc.constantFrom(1, 20, 5_000),
      })
      .map(({ some, letters, range, limit }) => ({
        query: some.map((word) => word.slice(0, letters)).join(' '),
        limit,
        ...(range && {
          minFollowers: 1_000_000 - Math.max(...range),
          maxFollowers: 1_000_000 - Math.min(...range),
        }),
      }));
    expect(await expectAsReference(leads, fc.sample(query, 200))).toBeGreaterThan(1_000);
  });

  it('with equally many followers are ordered by username across limits and pages', async () => {
    const leads = Array.from({ length: 600 }, (_, index) =>
      buildLead({
        username: `user${(index * 7919) % 1_000}`,
        followers: 500 + (index % 2),
        bio: 'same words',
      }),
    );
    await take(leads.slice(0, 200));
    await take(leads.slice(200), 'upsert');
    const limits = [1, 2, 299, 300, 301, 599, 600, 601];
    await expectAsReference(
      leads,
      limits.flatMap((limit) => [{ limit }, { query: 'same', limit }]),
    );
    for (const query of [{}, { query: 'wor' }]) {
      const pages: Lead[] = [];
      for (;;) {
        const after = pages.at(-1);
        const [page = []] = await profiles.search([{ ...query, limit: 70, ...(after && { after }) }]);
        pages.push(...page);
        if (page.length < 70) break;
      }
      expect(pages).toEqual(leads.toSorted(compareLeads));
    }
  });

  it('may be a great many with equally many followers', async () => {
    const leads = Array.from({ length: 150_000 }, (_, index) =>
      buildLead({ username: `user${index}`, followers: 0 }),
    );
    await take(leads);
    const [first, later] = await profiles.search([
      { limit: 2 },
      { limit: 2, after: { username: 'user99998', followers: 0 } },
    ]);
    expect(first?.map(({ username }) => username)).toEqual(['user0', 'user1']);
    expect(later?.map(({ username }) => username)).toEqual(['user99999']);
  });

  it('are found by words of scripts without spaces, and by names with emojis', async () => {
    const leads = [
      buildLead({ username: 'one', bio: '東京タワーが好き' }),
      buildLead({ username: 'two', bio: '京都 東' }),
      buildLead({ username: '😀\u{1F600}x', full_name: '東京', followers: 5 }),
    ];
    await take(leads);
    const texts = ['東京', '京', '東', 'タワー', '東京都', '😀x', '\u{1F600}', 'x'];
    await expectAsReference(
      leads,
      texts.map((query) => ({ query, limit: 10 })),
    );
  });

  it('tell what they can be searched for', async () => {
    await take([
      ...people(137, { country: 'us', category: 'Caf\u00e9', gender: 'male' }),
      ...people(40, { country: 'FR', category: 'Music/Band' }, 1_000),
      ...people(9, { country: 'IS', category: 'Astronaut' }, 2_000),
    ]);
    // Who is replaced counts once.
    await take(people(29, { country: 'UK' }), 'upsert');
    expect(await profiles.facets()).toEqual({
      countries: [
        { value: 'US', profiles: 100 },
        { value: 'FR', profiles: 40 },
        { value: 'GB', profiles: 20 },
      ],
      categories: [
        { value: 'caf\u00e9', profiles: 100 },
        { value: 'music/band', profiles: 40 },
      ],
    });
  });
});

const people = (count: number, fields: Partial<Lead>, from = 0): Lead[] =>
  Array.from({ length: count }, (_, index) => buildLead({ username: `user${from + index}`, ...fields }));

/** Queries that find something: words, pieces of words and fields of the profiles themselves. */
const queryFrom = (leads: readonly Lead[]): fc.Arbitrary<LeadQuery> => {
  const pick = fc.constantFrom(...leads);
  const limit = fc.integer({ min: 1, max: 100 });
  const pieceOf = (text: string): fc.Arbitrary<string> =>
    fc
      .tuple(fc.nat(text.length), fc.integer({ min: 1, max: 12 }))
      .map(([start, length]) => text.slice(start, start + length));
  const words = pick.chain((one) => fc.record({ query: pieceOf(one.bio ?? one.username), limit }));
  const wordsAndFilters = fc.tuple(pick, pick).chain(([one, other]) =>
    fc.record(
      {
        limit,
        query: fc.oneof(pieceOf(one.bio ?? ''), pieceOf(one.username), pieceOf(one.full_name)),
        country: fc.constant(other.country ?? 'US'),
        category: fc.constant(one.category ?? 'Fashion'),
        gender: fc.constant(other.gender ?? 'male'),
        minFollowers: fc.constant(Math.min(one.followers, other.followers)),
        maxFollowers: fc.constant(Math.max(one.followers, other.followers)),
        after: fc.constant(one),
      },
      { requiredKeys: ['limit'] },
    ),
  );
  return fc.oneof(words, wordsAndFilters);
};
