/** Whole numbers below 2^32 in a growing typed array. */
export interface GrowingRows {
  readonly length: number;
  push(row: number): void;
  /** Returns a view of the pushed numbers, valid until the next call. */
  view(): Uint32Array;
  clear(): void;
}

export const createGrowingRows = (initialRows: number): GrowingRows => {
  let rows = new Uint32Array(initialRows);
  let length = 0;
  return {
    get length() {
      return length;
    },
    push: (row) => {
      if (length === rows.length) {
        const larger = new Uint32Array(rows.length * 2);
        larger.set(rows);
        rows = larger;
      }
      rows[length] = row;
      length += 1;
    },
    view: () => rows.subarray(0, length),
    clear: () => {
      length = 0;
    },
  };
};
