import type { RowSet } from './segment/row-set.ts';

/** A set of rows that grows. */
export interface RowMarks extends RowSet {
  add(row: number): void;
}

/** Creates marks for rows below `capacity`, starting with a copy of `from`. */
export const createRowMarks = (capacity: number, from: RowSet | null = null): RowMarks => {
  const words = new Uint32Array(Math.ceil(capacity / 32));
  if (from !== null) words.set(from.words);
  let size = from?.size ?? 0;
  return {
    words,
    get size() {
      return size;
    },
    add: (row) => {
      if (row >= capacity) throw new RangeError(`There is no row ${row} among ${capacity}.`);
      const word = words[row >>> 5] ?? 0;
      const bit = 1 << (row & 31);
      if ((word & bit) !== 0) return;
      words[row >>> 5] = word | bit;
      size += 1;
    },
  };
};
