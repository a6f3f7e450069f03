import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AppError } from '../../../src/kit/errors.ts';
import type { JsonObject } from '../../../src/kit/json.ts';
import type { Lead } from '../../../src/leads/lead-source.ts';
import { compareLeads } from '../../../src/leads/query/lead-filters.ts';
import { countryNames } from '../../../src/leads/query/country-names.ts';
import type { Services } from '../../../src/operations/call.ts';
import { createSearchLeads } from '../../../src/operations/search/search-leads.ts';
import { validate } from '../../../src/operations/validate.ts';
import { arbitraryLeads } from '../../leads/arbitrary-leads.ts';
import { buildLead } from '../../leads/build-lead.ts';
import { createReferenceSearch } from '../../leads/reference-search.ts';

const search = createSearchLeads({
  isOn: true,
  pricing: 'dynamic',
  maxLimit: 100,
  chargeEmpty: true,
  costsMoney: false,
  fromBalance: false,
  ratePerMinute: 60,
  syntheticProfiles: 1,
});

/** What is said of a search before it is paid for; null when it would run. */
const refusalOf = (input: object): string | null => {
  try {
    validate(search, input);
    return null;
  } catch (error) {
    if (error instanceof AppError && error.code === 'invalid_parameter') return error.message;
    throw error;
  }
};

describe('a search that cannot run', () => {
  it.each([
    [{ country: 'USA' }, 'country: must be the 2-letter ISO country code, which is US'],
    [{ country: 'United States' }, 'country: must be the 2-letter ISO country code, which is US'],
    [{ country: 'united kingdom' }, 'country: must be the 2-letter ISO country code, which is GB'],
    [{ country: 'Turkey' }, 'country: must be the 2-letter ISO country code, which is TR'],
    [{ country: 'Atlantis' }, 'country: must be a 2-letter ISO country code such as US or GB'],
    [{ country: 'ß' }, 'country: must be a 2-letter ISO country code such as US or GB'],
    [{ country: 'constructor' }, 'country: must be a 2-letter ISO country code such as US or GB'],
    [{ country: 'US, CA' }, 'country: must be a 2-letter ISO country code such as US or GB'],
    [
      { country: 'en' },
      'country: must be a 2-letter ISO country code such as US or GB; EN is the code of no country',
    ],
    [
      { country: 'EU' },
      'country: must be a 2-letter ISO country code such as US or GB; EU is the code of no country',
    ],
    [
      { country: 'XX' },
      'country: must be a 2-letter ISO country code such as US or GB; XX is the code of no country',
    ],
    [{ country: 'Trinidad and Tobago' }, 'country: must be the 2-letter ISO country code, which is TT'],
    [{ min_followers: '10k' }, 'min_followers: must be a whole number in digits, such as 10000'],
    [{ max_followers: 1.5 }, 'max_followers: must be a whole number in digits, such as 10000'],
    [{ min_followers: 1_000_000_001 }, 'min_followers: must be at most 1000000000'],
    [{ max_followers: 2 ** 53 }, 'max_followers: must be at most 9007199254740991'],
    [{ max_followers: '9007199254740993' }, 'max_followers: must be at most 9007199254740991'],
    [{ max_followers: -1 }, 'max_followers: must be at least 0'],
    [{ min_followers: -1 }, 'min_followers: must be at least 0'],
    [{ min_followers: 5, max_followers: 4 }, 'min_followers: must not be above max_followers'],
    [{ limit: 101 }, 'limit: must be at most 100'],
    [{ limit: 0 }, 'limit: must be at least 1'],
    [
      { cursor: 'ana' },
      'cursor: must be FOLLOWERS:USERNAME of the last result, such as 48200:coffee.with.ana',
    ],
    // PostgreSQL takes no text with NUL.
    [
      { cursor: '90:a\0b' },
      'cursor: must be FOLLOWERS:USERNAME of the last result, such as 48200:coffee.with.ana',
    ],
    [
      { count_only: true, cursor: '10:ana' },
      'cursor: must be left out with count_only, which counts all matches',
    ],
    [{ count_only: 'yes' }, 'count_only: must be true or false'],
    [{ gender: 'Female' }, 'gender: must be "male" or "female"'],
    [{ query: '🔥' }, 'query: must contain a letter or a digit'],
    [{ category: 'x'.repeat(201) }, 'category: must have at most 200 characters'],
    [
      { category: '\u0958'.repeat(200) },
      'category: must be shorter: in lower case it has more than 1,000 bytes',
    ],
    [{ query: 'x'.repeat(201) }, 'query: must have at most 200 characters'],
    [{ query: 'a b c d e f g h i j k' }, 'query: must have at most 10 words'],
    [
      { query: '赤橙黄緑青藍紫白黒灰茶金銀桃朱紺藤柿栗桜梅松竹菊蘭蓮' },
      'query: must be shorter: of scripts without spaces, at most 24 pairs of letters are searched',
    ],
  ])('is told what to do: %j', (input, text) => {
    expect(refusalOf(input)).toBe(text);
  });

  it.each([
    [{ limit: 0, query: 'a b c d e f g h i j k' }, ['limit', 'query']],
    [{ limit: 0, min_followers: 10, max_followers: 5 }, ['limit', 'min_followers']],
    [{ query: 'a b c d e f g h i j k', min_followers: 10, max_followers: 5 }, ['query', 'min_followers']],
    [{ limit: '99999999999999999999' }, ['limit']],
    [{ cursor: 'ana', count_only: true }, ['cursor']],
  ])('is told all that is wrong, each parameter once: %j', (input, names) => {
    expect(refusalOf(input)?.split('; ')).toEqual(
      names.map((name) => expect.stringMatching(new RegExp(`^${name}: `))),
    );
  });

  it('is told which parameters are given more than once', () => {
    expect(refusalOf({ limit: ['1', '2'], gender: ['male', 'male'] })).toBe(
      'gender: is given more than once; limit: is given more than once',
    );
  });
});

describe('a search', () => {
  it.each([
    { query: '#fitness' },
    { query: 'a b c d e f g h i j' },
    { query: '@ana.reyes' },
    { country: 'us' },
    { country: ' US ' },
    { country: '' },
    { country: 'uk' },
    { country: 'XK' },
    { gender: '' },
    { query: '', category: '', min_followers: '', max_followers: '', limit: '' },
    { max_followers: 1_000_000_001 },
    { max_followers: Number.MAX_SAFE_INTEGER },
    { max_followers: String(Number.MAX_SAFE_INTEGER) },
    { query: null, country: null, category: null, gender: null, min_followers: null, max_followers: null },
    { category: 'beauty' },
    { min_followers: '10000', max_followers: '20000', limit: '20' },
    { category: 'x'.repeat(200) },
    { min_followers: 10, max_followers: 10 },
    { limit: 100 },
    {},
  ])('runs: %j', (input) => {
    expect(refusalOf(input)).toBeNull();
  });

  it('takes null for what is left out', () => {
    expect(search.input.parse({ query: 'x', country: null, limit: null })).toEqual({ query: 'x', limit: 20 });
  });

  it('takes an empty text for what is left out, in every parameter', () => {
    const empty = Object.fromEntries(search.rest.query.map((name) => [name, '']));
    expect(search.input.parse(empty)).toEqual({ limit: 20 });
  });

  it('may be by the code of any country that has a name', () => {
    const names = new Intl.DisplayNames('en', { type: 'region' });
    expect(new Set(countryNames().map(([code]) => code)).size).toBeGreaterThanOrEqual(249);
    for (const [code, name] of countryNames()) {
      expect(names.of(code)).not.toBe(code);
      expect(refusalOf({ country: code })).toBeNull();
      expect(refusalOf({ country: name })).toBe(
        `country: must be the 2-letter ISO country code, which is ${code}`,
      );
    }
  });
});

const { signal } = new AbortController();

/** The part of the services that a search uses, over these profiles. */
const servicesOver = (
  profiles: readonly Lead[],
  { count = profiles.length, countsFree }: { count?: number | null; countsFree?: boolean } = {},
): Services => {
  const find = createReferenceSearch(profiles);
  const leads = {
    search: (query: Parameters<typeof find>[0]) => Promise.resolve(find(query)),
    status: () => ({ ready: true, synthetic: false, profiles: count, countsFree, revision: '1' }),
  };
  return { leads } as unknown as Services;
};

const answerTo = (input: object, services: Services): Promise<JsonObject> =>
  search.sale.produce(search.input.parse(input), services, signal);

describe('the pages of a search', () => {
  it('have each profile once and in order, also where many have as many followers', async () => {
    await fc.assert(
      fc.asyncProperty(
        arbitraryLeads.map((leads) =>
          leads
            .filter(({ username }) => username !== '')
            .map((lead, index) => ({ ...lead, followers: index % 3 })),
        ),
        fc.integer({ min: 1, max: 4 }),
        async (leads, limit) => {
          const services = servicesOver(leads);
          const found: Lead[] = [];
          for (;;) {
            const last = found.at(-1);
            const cursor = last && `${last.followers}:${last.username}`;
            const { results } = (await answerTo({ limit, cursor }, services)) as unknown as {
              results: Lead[];
            };
            found.push(...results);
            if (results.length < limit) break;
          }
          expect(found).toEqual(leads.toSorted(compareLeads));
        },
      ),
      { numRuns: 100 },
    );
  });
});

describe('a count of matches', () => {
  const lookAt = (input: object, services: Services) =>
    search.sale.look?.(search.input.parse(input), services, signal);
  const many = Array.from({ length: 130 }, (_, index) => buildLead({ username: `user${index}` }));

  it('is bounded, and gives no profile away', async () => {
    expect(await lookAt({ count_only: 'true', limit: 1 }, servicesOver(many))).toEqual({
      results: [],
      count: 0,
      matches: 100,
      has_more_matches: true,
    });
    expect(await lookAt({ count_only: true }, servicesOver(many.slice(30)))).toMatchObject({
      matches: 100,
      has_more_matches: false,
    });
  });

  it('is not had of a service that the operator may pay for each search', async () => {
    await expect(lookAt({ count_only: true }, servicesOver(many, { count: null }))).rejects.toThrow(
      'count_only: is not available here: the profiles are kept by another service',
    );
  });

  it('is had of a service of the operator’s own, whose searches cost nothing', async () => {
    const own = servicesOver(many, { count: null, countsFree: true });
    expect(await lookAt({ count_only: true }, own)).toMatchObject({ matches: 100, has_more_matches: true });
  });

  it('is made only where it is asked for', async () => {
    expect(await lookAt({ count_only: 'false' }, servicesOver(many))).toBeNull();
  });
});
