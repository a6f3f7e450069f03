import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareLeads } from '../../src/leads/lead-order.ts';
import { createReferenceSearch } from '../../src/leads/reference-search.ts';
import { buildLead } from './build-lead.ts';

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

  it('compares countries without case, and finds nothing for what is no country code', () => {
    expect(names({ country: 'Us' })).toBe('ab');
    expect(names({ country: 'USA' })).toBe('');
  });

  it('compares whole category names without case', () => {
    expect(names({ category: 'beauty' })).toBe('cb');
    expect(names({ category: 'salon' })).toBe('');
  });

  it('filters by gender and by a range of followers with both ends', () => {
    expect(names({ gender: 'male' })).toBe('c');
    expect(names({ minFollowers: 10, maxFollowers: 10 })).toBe('ab');
    expect(names({ minFollowers: 11, maxFollowers: 10 })).toBe('');
  });
});

describe('the order of leads', () => {
  it('is that of UTF-8 bytes among usernames', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (a, b) => {
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
