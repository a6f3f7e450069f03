import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRowSet } from '../../../../src/leads/embedded/segment/row-set.ts';
import { usualShape, type SegmentShape } from '../../../../src/leads/embedded/segment/segment-format.ts';
import { compareLeads } from '../../../../src/leads/query/lead-order.ts';
import type { Lead } from '../../../../src/leads/lead-source.ts';
import { createReferenceSearch } from '../../reference-search.ts';
import { generateLeads } from '../../../../src/leads/synthetic/generate-leads.ts';
import { arbitraryLeads, arbitraryQuery } from '../../arbitrary-leads.ts';
import { buildLead } from '../../build-lead.ts';
import { tinyShape, withSegment } from './with-segment.ts';

const shape: fc.Arbitrary<SegmentShape> = fc.oneof(
  fc.constant(usualShape),
  fc.constant(tinyShape),
  fc.record({
    chunkRows: fc.constantFrom(32, 64, 128),
    blockTerms: fc.integer({ min: 1, max: 40 }),
    mostInlineRows: fc.integer({ min: 0, max: 3 }),
    mostShortRows: fc.integer({ min: 3, max: 12 }),
    groupBytes: fc.integer({ min: 1, max: 100 }),
    mostGroupBytes: fc.integer({ min: 1, max: 300 }),
    mostPrefixTerms: fc.integer({ min: 1, max: 10 }),
    mostPrefixRows: fc.integer({ min: 1, max: 12 }),
    mostPrefixLists: fc.integer({ min: 1, max: 4 }),
  }),
);

describe('a segment', () => {
  it('answers every query as the reference does, in every form that its lists can take', async () => {
    let matches = 0;
    await fc.assert(
      fc.asyncProperty(
        arbitraryLeads,
        fc.array(arbitraryQuery, { minLength: 20, maxLength: 40 }),
        fc.array(fc.nat()),
        shape,
        fc.constantFrom(0, 1, 3, 64),
        async (leads, queries, picks, someShape, fewRows) => {
          const sorted = leads.toSorted(compareLeads);
          const goneRows = new Set(picks.filter(() => leads.length > 0).map((pick) => pick % leads.length));
          const remaining = sorted.filter((_, row) => !goneRows.has(row));
          const reference = createReferenceSearch(remaining);
          const gone = goneRows.size === 0 ? null : createRowSet(goneRows, leads.length);
          await withSegment(
            leads,
            (segment) => {
              for (const query of queries) {
                const expected = reference(query);
                matches += expected.length;
                expect(segment.search(query, gone)).toEqual(expected);
              }
              expect([...segment.scan(gone)].map(({ lead }) => lead)).toEqual(remaining);
            },
            someShape,
            { fewRows },
          );
        },
      ),
      { numRuns: 80 },
    );
    expect(matches).toBeGreaterThan(100);
  });

  it.each([
    ['the usual form', usualShape],
    ['small chunks and lists', { ...tinyShape, chunkRows: 256, mostShortRows: 20, mostPrefixTerms: 20 }],
    ['many lists for a prefix', { ...tinyShape, chunkRows: 512, mostPrefixLists: 4, mostShortRows: 50 }],
  ])('answers queries made of the words of generated profiles as the reference does: %s', async (_, some) => {
    const leads = [...generateLeads({ seed: 5, profiles: 1500 })];
    const reference = createReferenceSearch(leads);
    await withSegment(
      leads,
      (segment) => {
        let matches = 0;
        fc.assert(
          fc.property(queryFrom(leads), (query) => {
            const expected = reference(query);
            matches += expected.length;
            expect(segment.search(query, null)).toEqual(expected);
          }),
          { numRuns: 250 },
        );
        expect(matches).toBeGreaterThan(100);
      },
      some,
    );
  });

  it('answers as the reference does if chunks are full of rows', async () => {
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
    const reference = createReferenceSearch(leads);
    await withSegment(
      leads,
      (segment) => {
        fc.assert(
          fc.property(
            fc.subarray(words, { minLength: 1 }),
            fc.option(fc.tuple(fc.nat(9_000), fc.nat(9_000)), { nil: undefined }),
            fc.constantFrom(1, 20, 5_000),
            fc.constantFrom(null, 3, 7),
            (some, range, limit, letters) => {
              const query = some.map((word) => (letters === null ? word : word.slice(0, letters))).join(' ');
              const followers = range && {
                minFollowers: 1_000_000 - Math.max(...range),
                maxFollowers: 1_000_000 - Math.min(...range),
              };
              const asked = { query, limit, ...followers };
              expect(segment.search(asked, null)).toEqual(reference(asked));
            },
          ),
          { numRuns: 150 },
        );
        const halves = reference({ query: 'alpha', limit: 9_000 });
        expect(halves.length).toBeGreaterThan(3_000);
      },
      { ...tinyShape, chunkRows: 4096, mostShortRows: 20 },
    );
  });

  it('orders equal followers by username across the limit', async () => {
    const leads = Array.from({ length: 300 }, (_, index) =>
      buildLead({
        username: `user${(index * 7919) % 1000}`,
        followers: 500 + (index % 2),
        bio: 'same words',
      }),
    );
    const usernames = leads.toSorted(compareLeads).map(({ username }) => username);
    await withSegment(
      leads,
      (segment) => {
        for (const limit of [1, 2, 149, 150, 151, 299, 300]) {
          const found = segment.search({ query: 'same', limit }, null).map(({ username }) => username);
          expect(found).toEqual(usernames.slice(0, limit));
        }
      },
      tinyShape,
    );
  });

  it('finds a profile by its username without case, and nobody else', async () => {
    const leads = [...generateLeads({ seed: 9, profiles: 700 })];
    await withSegment(
      [
        ...leads,
        buildLead({ username: '.', followers: 3 }),
        buildLead({ username: 'Ünï.Code_', followers: 4 }),
      ],
      (segment) => {
        for (const { username } of leads.slice(0, 100))
          expect(segment.find(username.toUpperCase())?.lead.username).toBe(username);
        expect(segment.find('.')?.lead.followers).toBe(3);
        expect(segment.find('ünÏ.cOdE_')?.lead.followers).toBe(4);
        expect(segment.find('..')).toBeNull();
        expect(segment.find('')).toBeNull();
      },
    );
  });

  it('skips many gone rows', async () => {
    const leads = [...generateLeads({ seed: 4, profiles: 300 })].toSorted(compareLeads);
    for (const [first, end] of [
      [0, 200],
      [5, 170],
      [31, 96],
      [64, 300],
      [0, 300],
    ] as const) {
      const rows = Array.from({ length: end - first }, (_, index) => first + index);
      const remaining = leads.filter((_, row) => row < first || row >= end);
      await withSegment(leads, (segment) => {
        const gone = createRowSet(rows, 300);
        expect(segment.search({ limit: 300 }, gone)).toEqual(remaining);
        const minFollowers = leads[210]?.followers ?? 0;
        expect(segment.search({ minFollowers, limit: 300 }, gone)).toEqual(
          remaining.filter(({ followers }) => followers >= minFollowers),
        );
      });
    }
  });

  it('may be empty', async () => {
    await withSegment([], (segment) => {
      expect(segment.profiles).toBe(0);
      expect(segment.search({ limit: 5 }, null)).toEqual([]);
      expect(segment.search({ query: 'word', country: 'US', minFollowers: 5, limit: 5 }, null)).toEqual([]);
      expect(segment.find('someone')).toBeNull();
    });
  });
});

/** Queries that find something: words, pieces of words and fields of the profiles themselves. */
const queryFrom = (leads: readonly Lead[]) => {
  const pick = fc.constantFrom(...leads);
  const pieceOf = (text: string): fc.Arbitrary<string> =>
    fc
      .tuple(fc.nat(text.length), fc.integer({ min: 1, max: 12 }))
      .map(([start, length]) => text.slice(start, start + length));
  const words = pick.chain((one) =>
    fc.record({ query: pieceOf(one.bio ?? one.username), limit: fc.integer({ min: 1, max: 100 }) }),
  );
  const wordsAndFilters = fc.tuple(pick, pick).chain(([one, other]) =>
    fc.record(
      {
        limit: fc.integer({ min: 1, max: 100 }),
        query: fc.oneof(pieceOf(one.bio ?? ''), pieceOf(one.username), pieceOf(one.full_name)),
        country: fc.constant(other.country ?? 'US'),
        category: fc.constant(one.category ?? 'Fashion'),
        gender: fc.constant(other.gender ?? 'male'),
        minFollowers: fc.constant(Math.min(one.followers, other.followers)),
        maxFollowers: fc.constant(Math.max(one.followers, other.followers)),
      },
      { requiredKeys: ['limit'] },
    ),
  );
  return fc.oneof(words, wordsAndFilters);
};
