import type { DatabaseSync } from 'node:sqlite';
import { createByteReader, type ByteReader } from './byte-reader.ts';
import { firstBeyond } from './lower-bound.ts';
import { SegmentDamagedError, sealNames, unseal, type ListRef, type SegmentShape } from './segment-format.ts';

export type TermEntry = { rows: Uint32Array; list: null } | { rows: null; list: ListRef };

export type Dictionary = ReturnType<typeof openDictionary>;

/** Opens the terms of a segment. Reads the first term of each block into memory. */
export const openDictionary = (
  database: DatabaseSync,
  { blocks, shape: { mostInlineRows } }: { blocks: number; shape: Pick<SegmentShape, 'mostInlineRows'> },
) => {
  const starts = readStarts(database);
  if (starts.length !== blocks)
    throw new SegmentDamagedError('the last blocks of the dictionary are missing');
  const readBlock = database.prepare('SELECT data FROM dictionary WHERE block = ?');

  const walkBlock = (block: number, target: string, take: TakeTerm): boolean => {
    const reader = createByteReader(unseal(readBlock.get(block)?.['data'], sealNames.dictionary(block)));
    return walk(reader, { target, mostInlineRows, take });
  };

  /** Yields the terms before `end` with their numbers of rows, at most `most` of them. */
  function* countsBefore(end: string, most: number): Generator<{ term: string; rows: number }> {
    let left = most;
    for (let block = 0; block < starts.length; block += 1) {
      const reader = createByteReader(unseal(readBlock.get(block)?.['data'], sealNames.dictionary(block)));
      let term = '';
      while (!reader.isAtEnd) {
        const shared = reader.varint();
        term = term.slice(0, shared) + reader.text();
        if (term >= end || left === 0) return;
        left -= 1;
        const rows = reader.varint();
        reader.skip(rows <= mostInlineRows ? rows : 1);
        yield { term, rows };
      }
    }
  }

  return {
    countsBefore,
    find: (term: string): TermEntry | null => {
      const block = lastAtMost(starts, term);
      if (block < 0) return null;
      let found: TermEntry | null = null;
      walkBlock(block, term, (place, entry) => {
        if (place === 'equal') found = entry();
        return place !== 'before';
      });
      return found;
    },
    /** Returns the terms that begin with `prefix`; null if there are more than `most`. */
    beginningWith: (prefix: string, most: number): TermEntry[] | null => {
      const entries: TermEntry[] = [];
      for (let block = Math.max(0, lastAtMost(starts, prefix)); block < starts.length; block += 1) {
        const isBeyond = walkBlock(block, prefix, (place, entry) => {
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

/** Takes a term's place, and `entry`, which reads its rows. Returns true to end the walk. */
type TakeTerm = (place: Place, entry: () => TermEntry) => boolean;

/**
 * Calls `take` for the terms of a block, in order, with their position relative to `target`, until it returns true.
 * Reads only the units that decide and creates no strings.
 */
const walk = (
  reader: ByteReader,
  { target, mostInlineRows, take }: { target: string; mostInlineRows: number; take: TakeTerm },
): boolean => {
  let place: Place = 'before';
  // For a term before the target: the number of units that both begin with.
  let agreed = 0;
  while (!reader.isAtEnd) {
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
    const count = reader.varint();
    const isInline = count <= mostInlineRows;
    let isRead = false;
    const isEnough = take(place, () => {
      isRead = true;
      return isInline
        ? { rows: reader.ascending(count), list: null }
        : { rows: null, list: { list: reader.varint(), count } };
    });
    if (isEnough) return true;
    if (!isRead) reader.skip(isInline ? count : 1);
  }
  return false;
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
const lastAtMost = (sorted: readonly string[], text: string): number =>
  firstBeyond(sorted.length, (index) => (sorted[index] ?? '') > text) - 1;
