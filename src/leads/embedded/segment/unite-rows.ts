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
