/*
 * Sorting hundreds of thousands of strings mostly costs comparisons. So the beginnings of terms are sorted as numbers,
 * with the term's index in the lowest bits. Only terms with equal beginnings are compared as strings.
 */
const placeBits = 22;

/** Returns the indices of `terms` (at most 2^22) in UTF-16 order. */
export const sortTerms = (terms: readonly string[]): Uint32Array => {
  if (terms.length > 2 ** placeBits) throw new RangeError(`There are more than ${2 ** placeBits} terms.`);
  const keys = new BigUint64Array(terms.length);
  // Writes both halves of each key directly: a BigInt per term would cost more than the sorting.
  const halves = new Uint32Array(keys.buffer);
  for (let place = 0; place < terms.length; place += 1) {
    const key = beginningOf(terms[place] ?? '');
    halves[place * 2 + high] = Math.floor(key / 2 ** (32 - placeBits));
    halves[place * 2 + low] = (key % 2 ** (32 - placeBits)) * 2 ** placeBits + place;
  }
  keys.sort();
  return orderAlike(terms, halves);
};

/** The position of each half depends on the platform's byte order. */
const low = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1 ? 0 : 1;
const high = 1 - low;

/** Units per key, seven bits each. */
const keyUnits = 6;
/** Replaces every unit outside ASCII and all units after it, which then decide nothing. */
const beyondAscii = 127;

/** Returns the first units of a term as a number. Terms with different numbers are in the order of these numbers. */
const beginningOf = (term: string): number => {
  let key = 0;
  let isAscii = true;
  for (let index = 0; index < keyUnits; index += 1) {
    const unit = index < term.length ? term.charCodeAt(index) : 0;
    isAscii &&= unit < beyondAscii;
    key = key * 128 + (isAscii ? unit : beyondAscii);
  }
  return key;
};

/** Returns the indices in key order. Terms with equal keys are compared as strings. */
const orderAlike = (terms: readonly string[], halves: Uint32Array): Uint32Array => {
  const places = new Uint32Array(terms.length);
  const byTerm = (one: number, other: number): number => {
    const first = terms[one] ?? '';
    const second = terms[other] ?? '';
    return first < second ? -1 : Number(first > second);
  };
  let start = 0;
  let last = -1;
  for (let index = 0; index < terms.length; index += 1) {
    const lower = halves[index * 2 + low] ?? 0;
    const beginning = (halves[index * 2 + high] ?? 0) * 2 ** (32 - placeBits) + (lower >>> placeBits);
    if (beginning !== last) {
      if (index - start > 1) places.subarray(start, index).sort(byTerm);
      start = index;
      last = beginning;
    }
    places[index] = lower & (2 ** placeBits - 1);
  }
  if (terms.length - start > 1) places.subarray(start).sort(byTerm);
  return places;
};
