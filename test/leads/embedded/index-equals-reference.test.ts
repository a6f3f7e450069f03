import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { buildIndex } from '../../../src/leads/embedded/build-index.ts';
import { syntheticIdentity } from '../../../src/leads/embedded/index-identity.ts';
import { openIndex } from '../../../src/leads/embedded/open-index.ts';
import type { Lead, LeadQuery } from '../../../src/leads/lead-source.ts';
import { createReferenceSearch } from '../../../src/leads/reference-search.ts';
import { generateLeads } from '../../../src/leads/synthetic/generate-leads.ts';
import { arbitraryLeads, arbitraryQuery } from '../arbitrary-leads.ts';
import { buildLead } from '../build-lead.ts';

let folder: string;
let built = 0;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'leads-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const identity = syntheticIdentity({ seed: 1, profiles: 0 });

const withIndex = (leads: readonly Lead[], use: (search: (query: LeadQuery) => Lead[]) => void): void => {
  built += 1;
  const file = join(folder, `${built}.db`);
  buildIndex({ file, sortFile: `${file}-sort`, leads, identity });
  const index = openIndex(file);
  try {
    use((query) => index.search(query));
  } finally {
    index.close();
    rmSync(file);
    rmSync(`${file}-sort`);
  }
};

describe('the embedded index', () => {
  it('answers every query as the reference does', () => {
    let matches = 0;
    fc.assert(
      fc.property(
        arbitraryLeads,
        fc.array(arbitraryQuery, { minLength: 20, maxLength: 40 }),
        (leads, queries) => {
          const reference = createReferenceSearch(leads);
          withIndex(leads, (search) => {
            for (const query of queries) {
              const expected = reference(query);
              matches += expected.length;
              expect(search(query)).toEqual(expected);
            }
          });
        },
      ),
      { numRuns: 150 },
    );
    expect(matches).toBeGreaterThan(1000);
  });

  it('answers queries made of the words of generated profiles as the reference does', () => {
    const leads = [...generateLeads({ seed: 5, profiles: 1500 })];
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
    withIndex(leads, (search) => {
      fc.assert(
        fc.property(query, (wanted) => {
          expect(search(wanted)).toEqual(reference(wanted));
        }),
        { numRuns: 1000 },
      );
    });
  });

  it('orders equal followers by username across the limit, whatever order they came in', () => {
    const leads = Array.from({ length: 300 }, (_, index) =>
      buildLead({
        username: `user${(index * 7919) % 1000}`,
        followers: 500 + (index % 2),
        bio: 'same words',
      }),
    );
    const usernames = createReferenceSearch(leads)({ limit: 300 }).map(({ username }) => username);
    withIndex(leads, (search) => {
      for (const limit of [1, 2, 149, 150, 151, 299, 300]) {
        const found = search({ query: 'same', limit }).map(({ username }) => username);
        expect(found).toEqual(usernames.slice(0, limit));
      }
    });
  });

  it('refuses followers that it cannot hold, and a username that occurs twice', () => {
    for (const followers of [-1, 0.5, 2 ** 31, Number.NaN]) {
      expect(() => withIndex([buildLead({ followers })], () => undefined)).toThrow(/followers/);
    }
    expect(() => withIndex([buildLead(), buildLead()], () => undefined)).toThrow(/UNIQUE/);
  });
});
