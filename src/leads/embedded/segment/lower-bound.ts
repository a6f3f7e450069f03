/** Returns the first index from `from` on whose value is not below `value`; the length if there is none. */
export const lowerBound = (
  sorted: Uint16Array | Uint32Array,
  { value, from }: { value: number; from: number },
): number => {
  let low = from;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] ?? 0) < value) low = middle + 1;
    else high = middle;
  }
  return low;
};

/** Returns the first index whose value is beyond a limit; `length` if there is none. All later ones are beyond it too. */
export const firstBeyond = (length: number, isBeyond: (index: number) => boolean): number => {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBeyond(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
};
