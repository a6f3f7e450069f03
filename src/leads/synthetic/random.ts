/** A stream of pseudo-random numbers from a seed. Not for secrets. */
export type Random = ReturnType<typeof createRandom>;

/** Tommy Ettinger's Mulberry32: a counter whose bits are mixed. */
export const createRandom = (seed: number) => {
  let counter = seed;
  /** 0 to below 1. */
  const fraction = (): number => {
    counter = (counter + 0x6d2b79f5) | 0;
    let mixed = Math.imul(counter ^ (counter >>> 15), counter | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  /** 0 to `count` - 1, evenly distributed. */
  const below = (count: number): number => Math.floor(fraction() * count);
  return {
    fraction,
    below,
    chance: (probability: number): boolean => fraction() < probability,
    /** An element of a list that is not empty, evenly distributed. */
    pick: <T>(list: readonly [T, ...T[]]): T => list[below(list.length)] ?? list[0],
    /** An element of a list that is not empty, by Zipf's law: the nth is drawn in proportion to 1/n. */
    pickSkewed: <T>(list: readonly [T, ...T[]]): T =>
      list[Math.floor((list.length + 1) ** fraction()) - 1] ?? list[0],
  };
};
