import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareLeads } from '../../../src/leads/query/lead-filters.ts';
import { createReferenceSearch } from '../reference-search.ts';
import { arbitraryCharacters } from './arbitrary-characters.ts';
import { buildLead } from '../build-lead.ts';

const leads = [
  buildLead({ username: 'b', followers: 10, country: 'US', category: 'Beauty', gender: 'female' }),
  buildLead({ username: 'a', followers: 10, country: 'us', category: 'Beauty salon' }),
  buildLead({ username: 'c', followers: 20, country: 'DE', category: 'BEAUTY', gender: 'male' }),
  buildLead({ username: 'd', followers: 5 }),
];
const search = createReferenceSearch(leads);
const names = (query: Omit<Parameters<typeof search>[0], 'limit'>, limit = 100): string =>
  search({ ...query, limit })
    .map(({ username }) => username)
    .join('');

describe('the reference search', () => {
  it('orders by followers descending, then username ascending, up to the limit', () => {
    expect(names({})).toBe('cabd');
    expect(names({}, 2)).toBe('ca');
  });

  it('treats UK as GB, in profiles and in queries', () => {
    const search = createReferenceSearch([
      buildLead({ username: 'one', country: 'GB' }),
      buildLead({ username: 'two', country: 'UK' }),
    ]);
    for (const country of ['GB', 'UK', 'uk'])
      expect(search({ country, limit: 5 }).map(({ username }) => username)).toEqual(['one', 'two']);
  });

  it('compares countries without case, and finds nothing for an invalid country code', () => {
    expect(names({ country: 'Us' })).toBe('ab');
    expect(names({ country: 'USA' })).toBe('');
  });

  it('compares whole category names without case', () => {
    expect(names({ category: 'beauty' })).toBe('cb');
    expect(names({ category: 'BEAUTY SALON' })).toBe('a');
    expect(names({ category: 'salon' })).toBe('');
  });

  it('compares accented category names without case, and does not find them without their accents', () => {
    const cafe = createReferenceSearch([buildLead({ category: 'Cafe\u0301 & Straße' })]);
    for (const category of ['CAFÉ & STRASSE', 'CAFÉ & STRAẞE', 'café & straße'])
      expect(cafe({ category, limit: 1 })).toHaveLength(1);
    expect(cafe({ category: 'cafe & straße', limit: 1 })).toHaveLength(0);
  });

  it('filters by gender and by an inclusive range of followers', () => {
    expect(names({ gender: 'male' })).toBe('c');
    expect(names({ minFollowers: 10, maxFollowers: 10 })).toBe('ab');
    expect(names({ minFollowers: 11, maxFollowers: 10 })).toBe('');
  });
});

describe('the order of leads', () => {
  it('is that of UTF-8 bytes among usernames', () => {
    const text = arbitraryCharacters({ maxLength: 10 });
    fc.assert(
      fc.property(text, text, (a, b) => {
        const order = compareLeads(buildLead({ username: a }), buildLead({ username: b }));
        expect(Math.sign(order)).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
      }),
      {
        examples: [
          ['\u{FFFF}', '\u{10000}'],
          ['a\u{1F525}', 'a\u{1F4AA}'],
          ['a', 'ab'],
        ],
      },
    );
  });
});
