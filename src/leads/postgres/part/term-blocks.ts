import type { QueryTerm } from '../../query/search-terms.ts';
import { createByteReader, createByteWriter } from './bytes.ts';
import type { StoredPlaces } from './places.ts';
import { sharedBeginning } from './shared-beginning.ts';
import { findUnions, type TermPlaces, type TermUnion } from './term-unions.ts';

/*
 * The inverted lists of one part, as rows of a table: each row is a block of neighbouring terms with the profiles that
 * have them. Any condition of a query is answered by one block, the last that does not start behind it:
 *
 * - Terms are in the order of UTF-16 units, and so are the starts of blocks, as bytes. A start is no longer than it
 *   must be to stand behind the last term of the block before.
 * - A beginning of three characters or more with many or long lists has an entry of its own with their union
 *   (term-unions.ts). It takes the place of the term that is spelled so: that one is never asked for alone.
 * - A beginning without such an entry is light, and a block never ends in the midst of its terms.
 *
 * An entry is: the units shared with the entry before it in the block, the others, the bytes of its places with their
 * form and whether it is a union, and these bytes.
 */

export interface TermBlock {
  /** Compares, as bytes, as the terms do. */
  start: Buffer;
  data: Buffer;
}

/** The size from which on a block ends at the next place where it may; below what PostgreSQL keeps in the row itself. */
const blockBytes = 1200;

/** The blocks of a part with so many profiles. */
export function* writeTermBlocks(terms: readonly TermPlaces[], profiles: number): Generator<TermBlock> {
  const { unions, mayDivide, stored } = findUnions(terms, profiles);
  const writer = createByteWriter();
  let start = '';
  let last = '';
  let isFirst = true;

  const add = (text: string, { places, isUnion }: { places: StoredPlaces; isUnion: boolean }): void => {
    const shared = isFirst ? 0 : sharedBeginning(last, text);
    writer.varint(shared);
    writer.text(text.slice(shared));
    writer.varint(places.bytes.length * 4 + (places.form === 'bitmap' ? 2 : 0) + Number(isUnion));
    writer.bytes(places.bytes);
    last = text;
    isFirst = false;
  };
  const endBlock = (): TermBlock => {
    const block = { start: startBytes(start), data: writer.take() };
    isFirst = true;
    return block;
  };
  /** Whether the next entry, of so many bytes, begins another block. */
  const isDue = (bytes: number): boolean => !isFirst && (writer.length >= blockBytes || bytes >= blockBytes);

  for (const [index, { term }] of terms.entries()) {
    const entries = entriesAt(index, { term, unions, stored });
    for (const [position, { text, places, isUnion }] of entries.entries()) {
      // Behind a union the terms it unites may be divided: they are not read for it.
      if (isDue(places.bytes.length) && (position > 0 || mayDivide(index))) {
        yield endBlock();
        start = shortestBehind(last, text);
      }
      add(text, { places, isUnion });
    }
  }
  if (!isFirst) yield endBlock();
}

/** The shortest beginning of `text` that comes behind `last`, which comes before `text`. */
const shortestBehind = (last: string, text: string): string => {
  const shared = sharedBeginning(last, text);
  const [next = ''] = text.slice(shared);
  return text.slice(0, shared) + next;
};

interface Entry {
  text: string;
  places: StoredPlaces;
  isUnion: boolean;
}

/** The unions that begin with the term at `index`, shortest first, and the term, unless a union is spelled so. */
const entriesAt = (
  index: number,
  {
    term,
    unions,
    stored,
  }: { term: string; unions: ReadonlyMap<number, TermUnion[]>; stored: readonly StoredPlaces[] },
): Entry[] => {
  const entries: Entry[] = (unions.get(index) ?? []).map(({ units, places }) => ({
    text: term.slice(0, units),
    places,
    isUnion: true,
  }));
  const places = stored[index];
  if (places !== undefined && entries.at(-1)?.text !== term)
    entries.push({ text: term, places, isUnion: false });
  return entries;
};

/** Where a block that answers for `text` starts at the latest. */
export const startBytes = (text: string): Buffer => Buffer.from(text, 'utf16le').swap16();

/** The places of what meets `condition`, to be united; none when nothing does. `data` is the block that answers it. */
export const findInBlock = (data: Uint8Array, { text, isPrefix }: QueryTerm): StoredPlaces[] => {
  const reader = createByteReader(data);
  const found: StoredPlaces[] = [];
  let term = '';
  while (!reader.isAtEnd) {
    const shared = reader.varint();
    term = term.slice(0, shared) + reader.text();
    const head = reader.varint();
    const bytes = reader.bytes(head >>> 2);
    const begins = isPrefix ? term.startsWith(text) : term === text;
    if (begins) {
      const places: StoredPlaces = { form: (head & 2) === 0 ? 'list' : 'bitmap', bytes };
      if ((head & 1) === 1) return [places];
      found.push(places);
    } else if (term > text) break;
  }
  return found;
};
