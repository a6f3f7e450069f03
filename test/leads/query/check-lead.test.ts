import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkLead } from '../../../src/leads/query/check-lead.ts';
import { buildLead } from '../build-lead.ts';

const least = { username: 'mira', followers: 5 };
const plain = { full_name: '', following: 0, is_verified: false, is_business: false };
const leadOf = (fields: Record<string, unknown>): unknown => {
  const checked = checkLead({ ...least, ...fields }, plain);
  return 'lead' in checked ? checked.lead : checked;
};
const problemOf = (fields: Record<string, unknown>): string | null => {
  const checked = checkLead({ ...least, ...fields }, plain);
  return 'problem' in checked ? checked.problem : null;
};

describe('a row', () => {
  it('needs a username and followers, and a default for each other missing required field', () => {
    const lead = buildLead({ username: 'mira', full_name: '', followers: 5, following: 0 });
    expect(checkLead(least, plain)).toEqual({ lead });
    expect(checkLead({ ...least, ...plain })).toEqual({ lead });
  });

  it.each([
    ['full_name', [undefined, null, '\\N'], 'text'],
    ['following', [undefined, null, '', ' ', 'null', 'n/a', '\\N', Number.NaN], 'a whole number'],
    ['is_verified', [undefined, null, '', 'None', '\\N', Number.NaN], 'true or false'],
    ['is_business', [undefined, null, '', 'None', '\\N', Number.NaN], 'true or false'],
  ] as const)('without %s is refused, never given a value that nobody told', (field, empty, form) => {
    const { [field]: _default, ...others } = plain;
    for (const value of empty)
      expect(checkLead({ ...least, ...plain, [field]: value }, others)).toEqual({
        problem: expect.stringContaining(`${field} is missing; it must be ${form}`),
        lacks: field,
      });
  });

  it('uses its own values before the defaults', () => {
    const own = { full_name: '', following: 0, is_verified: false, is_business: '0' };
    const defaults = { full_name: 'Nobody', following: 7, is_verified: true, is_business: true };
    expect(checkLead({ ...least, ...own }, defaults)).toEqual({
      lead: { ...least, ...plain, full_name: '' },
    });
    expect(checkLead(least, defaults)).toEqual({ lead: { ...least, ...defaults } });
  });

  it('becomes a profile with its fields in the order of the contract, without empty ones', () => {
    const row = {
      city: 'Lyon',
      country: 'fr',
      profile_pic_url: 'https://example.com/a.jpg',
      gender: 'F',
      media_count: '12',
      public_email: 'mira@example.com',
      bio: ' two\nlines ',
      category: 'Art',
      is_business: 'yes',
      is_verified: 1,
      following: 7n,
      followers: '1,234',
      full_name: 'Mira',
      username: ' @mira ',
    };
    const checked = checkLead(row);
    expect(JSON.stringify(checked)).toBe(
      JSON.stringify({
        lead: {
          username: 'mira',
          full_name: 'Mira',
          followers: 1234,
          following: 7,
          is_verified: true,
          is_business: true,
          category: 'Art',
          bio: 'two\nlines',
          public_email: 'mira@example.com',
          media_count: 12,
          gender: 'female',
          profile_pic_url: 'https://example.com/a.jpg',
          country: 'FR',
          city: 'Lyon',
        },
      }),
    );
    expect(checkLead({ ...row, city: '  ', country: null, gender: '', bio: 'Mira\0' })).toEqual({
      lead: expect.not.objectContaining({ city: expect.anything(), country: expect.anything() }),
    });
  });

  it.each([
    ['1234', 1234],
    [' 1,234,567 ', 1_234_567],
    ['1234.0', 1234],
    ['1234.000', 1234],
    ['1,234.000', 1234],
    ['1.00', 1],
    ['12.000000', 12],
    ['007', 7],
    [1234, 1234],
    [1234n, 1234],
    [-0, 0],
    [2 ** 31 - 1, 2 ** 31 - 1],
  ])('reads %o as so many followers', (followers, count) => {
    expect(leadOf({ followers })).toMatchObject({ followers: count });
  });

  it.each([
    '12k',
    -1,
    '-1',
    1.5,
    '1.5',
    '1.234',
    '1.000',
    ' 25.000 ',
    '100.000',
    '1.000.000',
    '1,23',
    '1e6',
    2 ** 31,
    '99999999999999999999',
    2n ** 64n,
    true,
    [],
    {},
  ])('is refused with %o followers', (followers) => {
    expect(problemOf({ followers })).toMatch(
      /^followers is .*; it must be a whole number from 0 to 2147483647, such as 1234 or 1,234, not 1\.234\.$/,
    );
  });

  it.each([undefined, null, '', '  ', 'null', 'NaN', Number.NaN, '\\N'])(
    'has no followers where %o stands',
    (followers) => {
      expect(problemOf({ followers })).toMatch(/^followers is missing/);
      expect(leadOf({ media_count: followers })).not.toHaveProperty('media_count');
    },
  );

  it.each([
    ['@mira', 'mira'],
    ['  mira.oak_2 ', 'mira.oak_2'],
    [12345, '12345'],
    [12345n, '12345'],
    ['Ünal', 'Ünal'],
    ['null', 'null'],
  ])('reads %o as a username', (username, name) => {
    expect(leadOf({ username })).toMatchObject({ username: name });
  });

  it.each([
    'two words',
    'https://instagram.com/mira',
    'a\0b',
    'a\u200Bb',
    '"mira"',
    "'mira'",
    'mira,',
    'mira;',
    'mira,5',
    'mira|ben',
    '@@mira',
    'mira@example.com',
    'mira\\',
    'x'.repeat(201),
    -1,
    1.5,
    true,
    {},
  ])('is refused with the username %o', (username) => {
    expect(problemOf({ username })).toMatch(/^username is .*; it must be only the name/);
  });

  it.each([undefined, null, '', ' @ ', '\\N'])('is refused with the username %o', (username) => {
    expect(problemOf({ username })).toMatch(/^username is missing/);
  });

  it.each([true, 1, 1n, '1', 'true', 'TRUE', ' T ', 'yes', 'Y', '1.0'])('reads %o as yes', (is_verified) => {
    expect(leadOf({ is_verified })).toMatchObject({ is_verified: true });
  });

  it.each([false, 0, 0n, '0', 'false', 'F', 'no', 'n'])('reads %o as no', (is_business) => {
    expect(leadOf({ is_business })).toMatchObject({ is_business: false });
  });

  it.each([
    ['is_verified', 'maybe'],
    ['is_business', 2],
    ['following', 'many'],
    ['media_count', -3],
    ['public_email', 'not given'],
    ['profile_pic_url', 'ftp://example.com/a.jpg'],
    ['profile_pic_url', 'javascript:alert(1)'],
    ['full_name', {}],
    ['category', ['Art']],
    ['city', true],
    ['full_name', 'x'.repeat(501)],
    ['category', 'x'.repeat(201)],
    ['category', '\u0958'.repeat(200)],
    ['city', 'x'.repeat(201)],
    ['country', 'x'.repeat(201)],
    ['bio', 'x'.repeat(5001)],
    ['public_email', `${'x'.repeat(320)}@example.com`],
    ['profile_pic_url', `https://example.com/${'x'.repeat(2048)}`],
  ])('is refused when %s is %o, rather than kept without it', (field, value) => {
    expect(problemOf({ [field]: value })).toMatch(new RegExp(`^${field} is .*; it must be `));
  });

  it.each(['unknown', 'other', 'x', 7, {}])('leaves a gender of %o out', (gender) => {
    expect(leadOf({ gender })).not.toHaveProperty('gender');
  });

  it.each([
    ['us', 'US'],
    [' uk ', 'UK'],
    ['United States', 'US'],
    ['U.S.A.', 'US'],
    ['Brasil', 'BR'],
    ['россия', 'RU'],
  ])('reads the country %o as %s', (country, code) => {
    expect(checkLead({ ...least, country }, plain)).toEqual({
      lead: expect.objectContaining({ country: code }),
    });
  });

  it.each([
    ['Atlantis', '"Atlantis"'],
    ['U1', '"U1"'],
    ['ﬂ', '"ﬂ"'],
    [49, '49'],
    [{}, 'an object'],
  ])('leaves the unknown country %o out, and tells it', (country, unknownCountry) => {
    const checked = checkLead({ ...least, country }, plain);
    expect(checked).toEqual({
      lead: expect.not.objectContaining({ country: expect.anything() }),
      unknownCountry,
    });
  });

  it('treats words for "no value" as empty, except in names and bios', () => {
    expect(
      leadOf({ category: 'None', city: 'null', country: 'n/a', full_name: 'Null', bio: 'None' }),
    ).toEqual(buildLead({ ...least, full_name: 'Null', bio: 'None', following: 0 }));
    expect(leadOf({ country: 'NA' })).toMatchObject({ country: 'NA' });
  });

  it('is refused with a short printable message, whatever it contains', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (value) => {
        const problem = problemOf({ followers: `x${value}` }) ?? '';
        expect(problem).toMatch(/^followers is "x/);
        expect(problem).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}]/u);
      }),
    );
    expect(problemOf({ followers: 'y'.repeat(500) })?.length).toBeLessThan(160);
  });
});

const anyValue = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.string({ unit: fc.constantFrom('\uD800', '\0', '@', ' ', 'a', '\u200B', '/'), maxLength: 6 }),
  fc.nat().map((length) => 'z'.repeat(length % 6000)),
  fc.constantFrom('US', 'f', 'https://example.com/a', 'a@b', 'true', '12', '1,000', 'nan', '\\N'),
  fc.double(),
  fc.integer(),
  fc.bigInt(),
  fc.anything(),
);

describe('any row', () => {
  it('becomes a profile only within the limits of every field', () => {
    const text = (most: number) => ({
      test: (value: unknown) => isText(value) && value.length <= most && value !== '',
    });
    const count = {
      test: (value: unknown) => Number.isInteger(value) && Number(value) >= 0 && Number(value) < 2 ** 31,
    };
    const bounds: Record<string, { test: (value: unknown) => boolean }> = {
      username: { test: (value) => isText(value) && /^[^\s\p{Cc}/]{1,200}$/u.test(value) },
      full_name: { test: (value) => isText(value) && value.length <= 500 },
      followers: count,
      following: count,
      media_count: count,
      is_verified: { test: (value) => typeof value === 'boolean' },
      is_business: { test: (value) => typeof value === 'boolean' },
      category: text(200),
      bio: text(5000),
      public_email: text(320),
      profile_pic_url: { test: (value) => text(2048).test(value) && /^https?:/i.test(String(value)) },
      city: text(200),
      gender: { test: (value) => value === 'male' || value === 'female' },
      country: { test: (value) => /^[A-Z]{2}$/.test(String(value)) },
    };
    let leads = 0;
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom(...Object.keys(bounds)), anyValue), { maxLength: 3 }),
        (changes) => {
          const checked = checkLead({ ...least, ...Object.fromEntries(changes) }, plain);
          if (!('lead' in checked)) return;
          leads += 1;
          for (const [field, value] of Object.entries(checked.lead))
            expect([field, bounds[field]?.test(value)]).toEqual([field, true]);
        },
      ),
      { numRuns: 1000 },
    );
    expect(leads).toBeGreaterThan(100);
  });
});

const isText = (value: unknown): value is string =>
  typeof value === 'string' && value.isWellFormed() && !value.includes('\0');
