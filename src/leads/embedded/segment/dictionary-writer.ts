import type { DatabaseSync } from 'node:sqlite';
import { createByteWriter } from './byte-writer.ts';
import type { ListWriter } from './list-writer.ts';
import { seal, sealNames, type ListRef, type SegmentShape } from './segment-format.ts';

/**
 * Writes terms to `dictionary`. They must come in UTF-16 order.
 *
 * A block has for each term: the number of units shared with the former term in the block, the other units, the number
 * of rows, and the rows or the number of their list.
 */
export const createDictionaryWriter = (
  database: DatabaseSync,
  { lists, shape: { blockTerms, mostInlineRows } }: { lists: ListWriter; shape: SegmentShape },
) => {
  const insertBlock = database.prepare('INSERT INTO dictionary VALUES (?, ?)');
  const insertStart = database.prepare('INSERT INTO dictionary_starts VALUES (?, ?)');
  const writer = createByteWriter(64 * 1024);
  let block = 0;
  let terms = 0;
  let last = '';

  const endBlock = (): void => {
    if (terms === 0) return;
    insertBlock.run(block, seal(writer.view(), sealNames.dictionary(block)));
    writer.clear();
    block += 1;
    terms = 0;
    last = '';
  };
  const beginBlock = (term: string): void => {
    const start = createByteWriter(256);
    start.text(term, 0);
    insertStart.run(block, seal(start.view(), sealNames.start(block)));
  };

  return {
    /** Returns the list of the rows, or null if they are stored in the dictionary. */
    add: (term: string, rows: Uint32Array): ListRef | null => {
      if (terms === blockTerms) endBlock();
      if (terms === 0) beginBlock(term);
      const shared = sharedUnits(last, term);
      writer.varint(shared);
      writer.text(term, shared);
      writer.varint(rows.length);
      let stored: ListRef | null = null;
      if (rows.length <= mostInlineRows) {
        writer.ascending(rows);
      } else {
        stored = lists.add(rows);
        writer.varint(stored.list);
      }
      terms += 1;
      last = term;
      return stored;
    },
    /** Returns the number of blocks. */
    end: (): number => {
      endBlock();
      return block;
    },
  };
};

/** Returns the number of equal units at the beginning of two texts. */
export const sharedUnits = (one: string, other: string): number => {
  const most = Math.min(one.length, other.length);
  let index = 0;
  while (index < most && one.charCodeAt(index) === other.charCodeAt(index)) index += 1;
  return index;
};
