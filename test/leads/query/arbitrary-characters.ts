import * as fc from 'fast-check';

const between = (first: number, last: number): fc.Arbitrary<string> =>
  fc.integer({ min: first, max: last }).map((codePoint) => String.fromCodePoint(codePoint));

/** Any characters but halves of surrogate pairs. fast-check's own unit `binary` takes a second to get ready. */
export const arbitraryCharacters = ({ maxLength }: { maxLength: number }): fc.Arbitrary<string> =>
  fc
    .array(
      fc.oneof(between(0, 0x7f), between(0, 0xd7ff), between(0xe000, 0xffff), between(0x10000, 0x10ffff)),
      {
        maxLength,
      },
    )
    .map((characters) => characters.join(''));
