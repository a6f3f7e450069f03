export interface RunLimits {
  /** At most 65,536, because a position has 16 bits. */
  profiles: number;
  /** Of all profiles together, to bound the memory for long texts. */
  terms: number;
  /** Sum of the terms of each profile. */
  pairs: number;
}

const usualLimits: RunLimits = { profiles: 65_536, terms: 1_000_000, pairs: 16_000_000 };

export type RunTerms = ReturnType<typeof createRunTerms>;

/** Collects in memory the terms of consecutive profiles. */
export const createRunTerms = (limits = usualLimits) => {
  const numbers = new Map<string, number>();
  let profiles = 0;
  let pairs = 0;
  let termOfPair = new Uint32Array(1_000_000);
  let placeOfPair = new Uint16Array(1_000_000);

  const grow = (): void => {
    const moreTerms = new Uint32Array(termOfPair.length * 2);
    moreTerms.set(termOfPair);
    termOfPair = moreTerms;
    const morePlaces = new Uint16Array(placeOfPair.length * 2);
    morePlaces.set(placeOfPair);
    placeOfPair = morePlaces;
  };

  /** Returns the positions of all terms, one term after the other, and the start of each term. */
  const groupByTerm = (): { places: Uint16Array; starts: Uint32Array } => {
    const starts = new Uint32Array(numbers.size + 1);
    for (let pair = 0; pair < pairs; pair += 1) {
      const next = (termOfPair[pair] ?? 0) + 1;
      starts[next] = (starts[next] ?? 0) + 1;
    }
    for (let term = 0; term < numbers.size; term += 1)
      starts[term + 1] = (starts[term + 1] ?? 0) + (starts[term] ?? 0);
    const ends = starts.slice();
    const places = new Uint16Array(pairs);
    for (let pair = 0; pair < pairs; pair += 1) {
      const term = termOfPair[pair] ?? 0;
      const end = ends[term] ?? 0;
      places[end] = placeOfPair[pair] ?? 0;
      ends[term] = end + 1;
    }
    return { places, starts };
  };

  return {
    get profiles(): number {
      return profiles;
    },
    get isFull(): boolean {
      return profiles >= limits.profiles || numbers.size >= limits.terms || pairs >= limits.pairs;
    },
    /** Adds the next profile. `terms` are distinct. */
    add: (terms: Iterable<string>): void => {
      for (const term of terms) {
        let number = numbers.get(term);
        if (number === undefined) {
          number = numbers.size;
          numbers.set(term, number);
        }
        if (pairs === termOfPair.length) grow();
        termOfPair[pairs] = number;
        placeOfPair[pairs] = profiles;
        pairs += 1;
      }
      profiles += 1;
    },
    /** Yields each term in UTF-16 order, with the ascending positions of its profiles, from 0. */
    *sorted(): Generator<{ term: string; places: Uint16Array }> {
      const { places, starts } = groupByTerm();
      for (const term of [...numbers.keys()].sort()) {
        const number = numbers.get(term) ?? 0;
        yield { term, places: places.subarray(starts[number], starts[number + 1]) };
      }
    },
    clear: (): void => {
      numbers.clear();
      profiles = 0;
      pairs = 0;
    },
  };
};
