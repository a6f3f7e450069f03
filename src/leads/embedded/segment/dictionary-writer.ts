import type { DatabaseSync } from 'node:sqlite';
import { createByteWriter } from './byte-writer.ts';
import type { ListWriter } from './list-writer.ts';
import { seal, sealNames, type ListRef, type SegmentShape } from './segment-format.ts';

/** Puts terms into `dictionary`, which must come in the order of UTF-16 units. */
export interface DictionaryWriter {
  /** Returns the list that holds the rows; null when they stand in the dictionary. */
  add(term: string, rows: Uint32Array): ListRef | null;
  /** Returns how many blocks there are. */
  end(): number;
}

/*
 * A block: for each term how many units it shares with the one before it in the block, the others, how many rows it
 * has, and these rows or the number of their list.
 */
export const createDictionaryWriter = (
  database: DatabaseSync,
  { lists, shape: { blockTerms, mostInlineRows } }: { lists: ListWriter; shape: SegmentShape },
): DictionaryWriter => {
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
    add: (term, rows) => {
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
    end: () => {
      endBlock();
      return block;
    },
  };
};

/** How many units two texts begin with alike. */
export const sharedUnits = (one: string, other: string): number => {
  const most = Math.min(one.length, other.length);
  let index = 0;
  while (index < most && one.charCodeAt(index) === other.charCodeAt(index)) index += 1;
  return index;
};
