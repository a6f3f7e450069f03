import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { foldText } from '../../src/leads/fold-text.ts';
import { arbitraryCharacters } from './arbitrary-characters.ts';

describe('folded text', () => {
  it('stays as it is when folded again', () => {
    fc.assert(
      fc.property(arbitraryCharacters({ maxLength: 50 }), (text) => {
        expect(foldText(foldText(text))).toBe(foldText(text));
      }),
      { numRuns: 2000 },
    );
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
