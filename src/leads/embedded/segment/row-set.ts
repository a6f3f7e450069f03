/** A set of a segment's rows, one bit each. */
export interface RowSet {
  /** Row 32 * i + j is in the set when bit j of word i is set. */
  readonly words: Uint32Array;
  readonly size: number;
}

export interface RowMarks extends RowSet {
  add(row: number): void;
}

/** Creates a set of `rows`, which may repeat and are below `capacity`. */
export const createRowSet = (rows: Iterable<number>, capacity: number): RowSet => {
  const marks = createRowMarks(capacity);
  for (const row of rows) marks.add(row);
  return marks;
};

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
      if ((word & bit) === 0) size += 1;
      words[row >>> 5] = word | bit;
    },
  };
};

export const isInSet = ({ words }: RowSet, row: number): boolean =>
  (((words[row >>> 5] ?? 0) >>> (row & 31)) & 1) === 1;

/** Returns the rows of the set, ascending. */
export const rowsOf = ({ words }: Pick<RowSet, 'words'>): Uint32Array => {
  const rows = new Uint32Array(countBits(words));
  let count = 0;
  for (let index = 0; index < words.length; index += 1) {
    let word = words[index] ?? 0;
    while (word !== 0) {
      rows[count] = index * 32 + 31 - Math.clz32(word & -word);
      count += 1;
      word &= word - 1;
    }
  }
  return rows;
};

const countBits = (words: Uint32Array): number => {
  let count = 0;
  for (const word of words) count += bitsOf(word);
  return count;
};

export const bitsOf = (word: number): number => {
  let bits = word - ((word >>> 1) & 0x5555_5555);
  bits = (bits & 0x3333_3333) + ((bits >>> 2) & 0x3333_3333);
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24;
};

/** Merges ascending parts into ascending, distinct rows. Returns a single part itself. */
export const uniteRows = (given: readonly Uint32Array[]): Uint32Array => {
  const parts = given.filter(({ length }) => length > 0);
  const [first, ...others] = parts;
  if (first === undefined) return new Uint32Array(0);
  if (others.length === 0) return first;
  const all = new Uint32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let end = 0;
  for (const part of parts) {
    all.set(part, end);
    end += part.length;
  }
  all.sort();
  let count = 0;
  for (const row of all) {
    if (count > 0 && all[count - 1] === row) continue;
    all[count] = row;
    count += 1;
  }
  return all.subarray(0, count);
};
