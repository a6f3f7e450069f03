/** Collects whole numbers below 2^32 in a growing typed array. */
export const createGrowingRows = (initialRows: number) => {
  let rows = new Uint32Array(initialRows);
  let length = 0;
  return {
    push: (row: number): void => {
      if (length === rows.length) {
        const larger = new Uint32Array(rows.length * 2);
        larger.set(rows);
        rows = larger;
      }
      rows[length] = row;
      length += 1;
    },
    /** Returns a view of the pushed numbers, valid until the next call. */
    view: (): Uint32Array => rows.subarray(0, length),
    clear: (): void => {
      length = 0;
    },
  };
};
