import type { DatabaseSync } from 'node:sqlite';
import { createByteReader, type ByteReader } from './byte-reader.ts';
import { SegmentDamagedError, sealNames, unseal, type ListRef, type SegmentShape } from './segment-format.ts';

/** A term's rows, or the list of its rows. */
export type TermEntry = { rows: Uint32Array; list: null } | { rows: null; list: ListRef };

/** The terms of a segment. */
export interface Dictionary {
  find(term: string): TermEntry | null;
  /** Returns the terms that begin with `prefix`; null if there are more than `most`. */
  beginningWith(prefix: string, most: number): TermEntry[] | null;
}

/** Reads the first term of each block into memory. */
export const openDictionary = (
  database: DatabaseSync,
  { blocks, shape: { mostInlineRows } }: { blocks: number; shape: Pick<SegmentShape, 'mostInlineRows'> },
): Dictionary => {
  const starts = readStarts(database);
  if (starts.length !== blocks)
    throw new SegmentDamagedError('the last blocks of the dictionary are missing');
  const readBlock = database.prepare('SELECT data FROM dictionary WHERE block = ?');

  const readEntry = (reader: ByteReader, count: number): TermEntry =>
    count > mostInlineRows
      ? { rows: null, list: { list: reader.varint(), count } }
      : { rows: reader.ascending(count), list: null };

  const skipEntry = (reader: ByteReader, count: number): void => {
    reader.skip(count > mostInlineRows ? 1 : count);
  };

  /**
   * Calls `take` for the terms of a block, in order, with their position relative to `target`, until it returns true.
   * Reads only the units that decide and creates no strings.
   */
  const walk = (
    block: number,
    target: string,
    take: (place: Place, entry: () => TermEntry) => boolean,
  ): boolean => {
    const reader = createByteReader(unseal(readBlock.get(block)?.['data'], sealNames.dictionary(block)));
    const placeNext = createPlacing(reader, target);
    while (!reader.isAtEnd) {
      const place = placeNext();
      const count = reader.varint();
      let isRead = false;
      const isEnough = take(place, () => {
        isRead = true;
        return readEntry(reader, count);
      });
      if (isEnough) return true;
      if (!isRead) skipEntry(reader, count);
    }
    return false;
  };

  return {
    find: (term) => {
      const block = lastAtMost(starts, term);
      if (block < 0) return null;
      let found: TermEntry | null = null;
      walk(block, term, (place, entry) => {
        if (place === 'equal') found = entry();
        return place !== 'before';
      });
      return found;
    },
    beginningWith: (prefix, most) => {
      const entries: TermEntry[] = [];
      for (let block = Math.max(0, lastAtMost(starts, prefix)); block < starts.length; block += 1) {
        const isBeyond = walk(block, prefix, (place, entry) => {
          if (place === 'equal' || place === 'beginning') entries.push(entry());
          return place === 'behind' || entries.length > most;
        });
        if (entries.length > most) return null;
        if (isBeyond) break;
      }
      return entries;
    },
  };
};

/** The position of a term relative to a text, in UTF-16 order. `beginning`: it begins with the text and goes on. */
type Place = 'before' | 'equal' | 'beginning' | 'behind';

/** Returns a function that reads the next term of a block and returns its position relative to `target`. */
const createPlacing = (reader: ByteReader, target: string): (() => Place) => {
  let place: Place = 'before';
  // For a term before the target: the number of units that both begin with.
  let agreed = 0;
  return () => {
    const shared = reader.varint();
    const units = reader.passText();
    if (place !== 'before') {
      place = shared >= target.length ? 'beginning' : 'behind';
    } else if (shared < agreed) {
      place = 'behind';
    } else if (shared === agreed) {
      let index = 0;
      while (index < units && agreed < target.length && reader.unit(index) === target.charCodeAt(agreed)) {
        index += 1;
        agreed += 1;
      }
      if (agreed === target.length) place = index === units ? 'equal' : 'beginning';
      else if (index < units && reader.unit(index) > target.charCodeAt(agreed)) place = 'behind';
    }
    return place;
  };
};

const readStarts = (database: DatabaseSync): string[] => {
  const starts: string[] = [];
  for (const { block, term } of database
    .prepare('SELECT block, term FROM dictionary_starts ORDER BY block')
    .iterate()) {
    if (block !== starts.length)
      throw new SegmentDamagedError(`block ${starts.length} of the dictionary is missing`);
    starts.push(createByteReader(unseal(term, sealNames.start(starts.length))).text());
  }
  return starts;
};

/** Returns the last index in `sorted` whose text is not above `text`; -1 if there is none. */
const lastAtMost = (sorted: readonly string[], text: string): number => {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? '') <= text) low = middle + 1;
    else high = middle;
  }
  return low - 1;
};
