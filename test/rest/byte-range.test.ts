import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseByteRange } from '../../src/rest/stream-medium.ts';

/** The positions that a range names, one by one, as RFC 9110 (14.1.2) tells it: an int-range or a suffix-range. */
const positionsOf = (first: string, last: string, size: number): number[] => {
  const positions = Array.from({ length: size }, (_, position) => position);
  if (first === '' && last === '') return [];
  if (first === '') return positions.slice(size - Math.min(size, Number(last)));
  return positions.filter(
    (position) => position >= Number(first) && (last === '' || position <= Number(last)),
  );
};

describe('a Range header', () => {
  it('names the same bytes as a simple model, for every spelling and size', () => {
    const end = fc.oneof(fc.constant(''), fc.nat(40).map(String), fc.constant('99999999999999999999'));
    fc.assert(
      fc.property(end, end, fc.nat(30), (first, last, size) => {
        const isBackwards = first !== '' && last !== '' && BigInt(first) > BigInt(last);
        const expected = isBackwards ? [] : positionsOf(first, last, size);
        expect(parseByteRange(`bytes=${first}-${last}`, size)).toEqual(
          expected.length === 0
            ? 'unsatisfiable'
            : { start: expected[0], end: expected[expected.length - 1] },
        );
      }),
      { numRuns: 2_000 },
    );
  });

  it('never leads outside the content', () => {
    const header = fc.oneof(
      fc.string({ maxLength: 20 }).map((text) => `bytes=${text}`),
      fc.string({
        unit: fc.constantFrom(...'b y t e s B Y = - , 0 1 9'.split(' '), ' ', '\t'),
        maxLength: 20,
      }),
    );
    fc.assert(
      fc.property(header, fc.nat(1_000), (text, size) => {
        const range = parseByteRange(text, size);
        if (typeof range === 'string') return;
        expect(Number.isSafeInteger(range.start) && Number.isSafeInteger(range.end)).toBe(true);
        expect(range.start >= 0 && range.start <= range.end && range.end < size).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    ['bytes=0-0', { start: 0, end: 0 }],
    ['bytes=10-', { start: 10, end: 99 }],
    ['bytes=-10', { start: 90, end: 99 }],
    ['bytes=-1000', { start: 0, end: 99 }],
    ['bytes=90-1000', { start: 90, end: 99 }],
    ['BYTES=1-2', { start: 1, end: 2 }],
  ])('"%s" is a range of 100 bytes', (header, range) => {
    expect(parseByteRange(header, 100)).toEqual(range);
  });

  it.each([
    'bytes=100-',
    'bytes=5-4',
    'bytes=-0',
    'bytes=-',
    'bytes=',
    'bytes',
    '',
    'bytes=a-b',
    'bytes=0x0-5',
    'bytes=1.5-2',
    'bytes=--5',
    'bytes=0-1,5-6',
    'bytes=0-1,',
    'bytes = 0-1',
    'bytes=0 - 1',
    'bananas',
    '0-5',
  ])('"%s" cannot be satisfied', (header) => {
    expect(parseByteRange(header, 100)).toBe('unsatisfiable');
  });

  it('is ignored if it has another unit or is missing', () => {
    expect(parseByteRange('pages=1-2', 100)).toBe('whole');
    expect(parseByteRange(undefined, 100)).toBe('whole');
  });
});
