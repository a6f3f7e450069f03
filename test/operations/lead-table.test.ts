import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { leadTable } from '../../src/operations/lead-table.ts';
import { arbitraryCharacters } from '../leads/arbitrary-characters.ts';
import { buildLead } from '../leads/build-lead.ts';

const linesOf = (profiles: Parameters<typeof buildLead>[0][]): string[] =>
  leadTable(profiles.map((fields) => ({ ...buildLead(fields) }))).split('\n');

describe('the table of profiles', () => {
  it('has a line of titles and a line for each profile, in their order', () => {
    const full = {
      username: 'ana.reyes',
      full_name: 'Ana Reyes',
      followers: 1_234_567,
      is_verified: true,
      is_business: true,
      category: 'Food',
      city: 'Austin',
      country: 'US',
      gender: 'female' as const,
      public_email: 'ana@example.com',
      bio: 'Coffee ☕\nand cake',
    };
    expect(linesOf([full, { username: 'b', followers: 5 }])).toEqual([
      'username | name | followers | category | place | gender | marks | email | bio',
      'ana.reyes | Ana Reyes | 1234567 | Food | Austin, US | female | verified, business | ana@example.com | Coffee ☕ and cake',
      'b | Some One | 5 | - | - | - | - | - | -',
    ]);
  });

  it('leaves out the columns in which no profile has anything', () => {
    expect(linesOf([{ username: 'a' }, { username: 'b', country: 'DE', bio: ' \n ' }])).toEqual([
      'username | name | followers | place',
      'a | Some One | 1000 | -',
      'b | Some One | 1000 | DE',
    ]);
  });

  it('cuts long bios after 80 characters, between code points', () => {
    const [, row] = linesOf([{ bio: '🔥'.repeat(300) }]);
    expect(row).toBe(`someone | Some One | 1000 | ${'🔥'.repeat(79)}…`);
    const [, fitting] = linesOf([{ bio: 'x'.repeat(80) }]);
    expect(fitting).toBe(`someone | Some One | 1000 | ${'x'.repeat(80)}`);
  });

  it.each([
    ['a line break', 'a\nb', 'a b'],
    ['a line separator', 'a\u2028b\u2029c\u0085d', 'a b c d'],
    ['a vertical tab and a form feed', 'a\vb\fc', 'a b c'],
    ['control characters', 'a\0\u001B[31mb', 'a [31mb'],
    ['borders of cells', 'a | b｜c', 'a ¦ b¦c'],
    ['what looks like borders of cells', 'a│b∣cǀd⎸e￨f❘g', 'a¦b¦c¦d¦e¦f¦g'],
    ['bits hidden in joiners and selectors', 'a\u200D\uFE0F\u200D\uFE0Eb🔥\u200D\u200D', 'ab🔥\u200D'],
    ['a change of direction', '\u202Eabc\u2066d', 'abcd'],
    ['text hidden in tags', 'a\u{E0049}\u{E0067}\u{E006E}b', 'ab'],
    ['text hidden in selectors of variants', 'a\u{E0121}\uFE05b', 'ab'],
    ['half of a character', 'a\uD83D', 'a\uFFFD'],
  ])('shows %s of a bio harmless', (_name, bio, shown) => {
    const [, row] = linesOf([{ bio }]);
    expect(row).toBe(`someone | Some One | 1000 | ${shown}`);
  });

  it('shows user names and e-mail addresses whole, and says where it cannot show one as it is', () => {
    const [username, email] = ['u'.repeat(200), `${'e'.repeat(300)}@example.com`];
    const [, long, odd] = linesOf([
      { username, public_email: email },
      { username: 'a|b', public_email: 'c|d@example.com' },
    ]);
    expect(long).toBe(`${username} | Some One | 1000 | ${email}`);
    expect(odd).toBe('a¦b (altered) | Some One | 1000 | c¦d@example.com (altered)');
  });

  it('keeps emojis whole', () => {
    const [, row] = linesOf([{ bio: '👩‍💻 ❤️‍🔥 🇧🇷 👩🏽‍💻 1️⃣ 🏳️‍🌈' }]);
    expect(row).toContain('👩‍💻 ❤️‍🔥 🇧🇷 👩🏽‍💻 1️⃣ 🏳️‍🌈');
  });

  it('has as many lines and cells whatever the texts of profiles are', () => {
    const text = fc.oneof(
      arbitraryCharacters({ maxLength: 10 }),
      fc
        .array(fc.constantFrom(' | ', '\n', '\r', 'x', '-', '\u2028', '｜'), { maxLength: 8 })
        .map((parts) => parts.join('')),
    );
    const fields = {
      username: text,
      full_name: text,
      category: text,
      city: text,
      country: text,
      public_email: text,
      bio: text,
    };
    fc.assert(
      fc.property(fc.array(fc.record(fields), { maxLength: 4 }), (profiles) => {
        const whole = {
          category: 'c',
          city: 'd',
          gender: 'male' as const,
          is_business: true,
          public_email: 'e',
          bio: 'f',
        };
        const lines = linesOf([whole, ...profiles]);
        expect(lines).toHaveLength(profiles.length + 2);
        for (const line of lines) expect(line.split(/[|\uFF5C]/)).toHaveLength(9);
      }),
      { numRuns: 60 },
    );
  });
});
