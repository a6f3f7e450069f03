import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { eachWord } from '../../../src/leads/query/each-word.ts';
import { leadTerms } from '../../../src/leads/query/lead-terms.ts';
import { queryTerms } from '../../../src/leads/query/search-terms.ts';
import { arbitraryCharacters } from './arbitrary-characters.ts';
import { arbitraryLeads, arbitraryText } from '../arbitrary-leads.ts';
import { plainLeadTerms, plainQueryTerms, plainWords, type PlainWord } from './plain-terms.ts';

const wordsOf = (text: string): PlainWord[] => {
  const found: PlainWord[] = [];
  eachWord(text, (word, isUnspaced) => found.push({ text: word, isUnspaced }));
  return found;
};

/** Characters that stand next to each other in no text but a hostile one, and those that change with neighbours. */
const characters = Array.from(
  'aAzZ09 ._-<=>\n\u0338\u0301\u0300\u0327\u0323\u034F\u0345\uFE0F\u20E3\u200D\u3099\u309Aカかｶﾞﾟガㄱㅏ각Gᄒ가각한' +
    'ΣσςßæǅŉİıſKåᾳΐΰﬁ½①²…¨℀㍿㎥゛・、ーヽ東京ไทำาກ្កကျऩिीक्षনা۱עשׁمَآﷺ𝐛𝔘🔥🏽🇧🇷\u{E0100}\u{1D165}\u{11099}\u{110BA}' +
    '\u{16D63}\u{16D67}\u{20000}\u{10FFFF}',
).concat('\uD83D', '\uDD25');
const entanglements = fc
  .array(fc.constantFrom(...characters), { maxLength: 12 })
  .map((parts) => parts.join(''));
const anything = arbitraryCharacters({ maxLength: 12 });
const mixed = fc
  .array(
    fc.oneof(entanglements, fc.string({ unit: 'grapheme', maxLength: 6 }), fc.constantFrom(' ', 'fit', '.')),
    {
      maxLength: 5,
    },
  )
  .map((parts) => parts.join(''));

describe('the words of a text', () => {
  it.each([
    ['entangled characters', entanglements],
    ['any characters', anything],
    ['pieces of all kinds', mixed],
    ['texts of profiles', arbitraryText(8)],
  ])('are those of the folded whole, in its order: %s', (_name, texts) => {
    fc.assert(
      fc.property(texts, (text) => {
        expect(wordsOf(text)).toEqual(plainWords(text));
      }),
      { numRuns: 1500 },
    );
  });

  it('are the same for each character between two letters, and at both ends', () => {
    const differing: string[] = [];
    for (let codePoint = 0; codePoint < 0x30000; codePoint += 1) {
      if (codePoint % 16 !== 0 && isPlentiful(codePoint)) continue;
      const text = `${String.fromCodePoint(codePoint)}ك${String.fromCodePoint(codePoint)}`;
      if (JSON.stringify(wordsOf(text)) !== JSON.stringify(plainWords(text))) differing.push(text);
    }
    expect(differing).toEqual([]);
  });
});

/** Ideographs and syllables: tens of thousands that Unicode treats alike. */
const isPlentiful = (codePoint: number): boolean =>
  /^[\p{Unified_Ideograph}\p{Co}\p{Cn}\p{scx=Hang}\p{scx=Tang}\p{scx=Xsux}\p{scx=Egyp}]$/u.test(
    String.fromCodePoint(codePoint),
  );

describe('the terms of a profile and of a query', () => {
  it('equal those of the plain version', () => {
    fc.assert(
      fc.property(arbitraryLeads, (leads) => {
        for (const lead of leads) expect([...leadTerms(lead)].sort()).toEqual(plainLeadTerms(lead));
      }),
      { numRuns: 150 },
    );
    fc.assert(
      fc.property(fc.oneof(mixed, arbitraryText(40)), (query) => {
        expect(queryTerms(query).map(({ text }) => text)).toEqual(plainQueryTerms(query));
      }),
      { numRuns: 1000 },
    );
  });
});
