import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { foldText } from '../../../src/leads/query/fold-text.ts';
import { arbitraryCharacters } from './arbitrary-characters.ts';

describe('folded text', () => {
  it('does not change when folded again', () => {
    fc.assert(
      fc.property(arbitraryCharacters({ maxLength: 50 }), (text) => {
        expect(foldText(foldText(text))).toBe(foldText(text));
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    ['שָׁלוֹם', 'שלום'],
    ['محمـــد', 'محمد'],
    ['مَرحبا', 'مرحبا'],
    ['ÅNGSTRÖM', 'angstrom'],
  ])('has no accents, vowel points and stretched strokes: %s', (written, plain) => {
    expect(foldText(written)).toBe(plain);
  });

  it('is the same for composed and decomposed, upper and lower case text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 50 }), (text) => {
        expect(foldText(text.normalize('NFD'))).toBe(foldText(text.normalize('NFC')));
        expect(foldText(text.toUpperCase())).toBe(foldText(text));
      }),
      { numRuns: 2000 },
    );
  });
});
