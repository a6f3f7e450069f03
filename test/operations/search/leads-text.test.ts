import fc from 'fast-check';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, it } from 'vitest';
import { generateLeads } from '../../../src/leads/synthetic/generate-leads.ts';
import { cutTable, foundText, toLeadsTable } from '../../../src/operations/search/leads-text.ts';
import { readTable, toCells } from '../../mcp/read-table.ts';

const readBack = (profiles: readonly Record<string, unknown>[]) =>
  readTable(`Found.\n\n${toLeadsTable(profiles)}`).rows;

describe('the table of profiles', () => {
  it('gives back every value of every profile, whatever characters it has', () => {
    const value = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ unit: fc.constantFrom('\\', '\t', '\n', '\r', 'n', '|', 'é', '🍰') }),
      fc.integer(),
      fc.boolean(),
      fc.constant(undefined),
      fc.array(fc.string()),
    );
    const profile = fc.record({
      username: fc.string({ minLength: 1 }),
      bio: value,
      city: value,
      extra: value,
    });
    fc.assert(
      fc.property(fc.array(profile, { minLength: 1, maxLength: 20 }), (profiles) => {
        expect(readBack(profiles)).toEqual(profiles.map(toCells));
      }),
    );
  });

  it('has no column for a field that no profile has', () => {
    const profiles = [
      { username: 'ana', bio: '', city: 'Rome' },
      { username: 'ben', bio: undefined, country: 'IT' },
    ];
    expect(toLeadsTable(profiles)).toBe('username\tcity\tcountry\nana\tRome\t\nben\t\tIT');
  });

  it('is cut after a whole row, the first at the earliest, and says how many rows are left', () => {
    const lengths = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(lengths, fc.integer({ min: 1, max: 400 }), (bios, maxLength) => {
        const profiles = bios.map((length, index) => ({ username: `u${index}`, bio: 'x'.repeat(length) }));
        const whole = toLeadsTable(profiles);
        const { table, left } = cutTable(whole, maxLength);
        const shown = profiles.length - left;
        expect(readTable(`Found.\n\n${table}`).rows).toEqual(profiles.slice(0, shown).map(toCells));
        expect(table.length <= maxLength || shown === 1).toBe(true);
        const next = whole
          .split('\n')
          .slice(0, shown + 2)
          .join('\n');
        expect(left === 0 || next.length > maxLength).toBe(true);
      }),
    );
  });

  it('takes a third fewer tokens than the JSON of twenty profiles', () => {
    const profiles = [...generateLeads({ seed: 7, profiles: 20 })];
    const asJson = countTokens(JSON.stringify({ results: profiles, count: profiles.length }));
    expect(countTokens(toLeadsTable(profiles))).toBeLessThan(asJson * 0.7);
  });
});

describe('the sentence of a search', () => {
  it.each([
    [20, { price: '$0.10', isGenerated: false }, '20 profiles for $0.10, most followers first.'],
    [
      1,
      { price: '$0.50', isGenerated: true },
      '1 profile for $0.50, most followers first; generated and fictional.',
    ],
    [0, { price: null, isGenerated: false }, 'No profile matches; nothing was charged.'],
    [0, { price: '$0.10', isGenerated: false }, 'No profile matches; the search cost $0.10.'],
  ])('of %i profiles with %j says what was found and what it cost', (profiles, found, sentence) => {
    expect(foundText(profiles, found)).toBe(sentence);
  });
});
