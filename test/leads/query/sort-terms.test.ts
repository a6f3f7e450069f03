import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { sortTerms } from '../../../src/leads/query/sort-terms.ts';

it('sorts terms by UTF-16 units, whatever they begin with', () => {
  const piece = fc.constantFrom(
    'a',
    'b',
    'fitness',
    'z',
    '0',
    '~',
    '\u007F',
    'é',
    '東',
    '\u{1D41B}',
    '\uFFFF',
    '\u0001',
  );
  const term = fc.array(piece, { maxLength: 9 }).map((pieces) => pieces.join(''));
  fc.assert(
    fc.property(fc.array(fc.oneof(term, fc.string()), { maxLength: 60 }), (terms) => {
      expect(Array.from(sortTerms(terms), (place) => terms[place])).toEqual(terms.toSorted());
    }),
    { numRuns: 500 },
  );
});
