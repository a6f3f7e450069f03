/** A stream of pseudo-random numbers from a seed. Not for secrets. */
export type Random = ReturnType<typeof createRandom>;

/** Marsaglia's xorshift with 128 bits of state, which `seed` fills through a Weyl sequence. */
export const createRandom = (seed: number) => {
  const word = (step: number): number => Math.imul(seed ^ Math.imul(step, 0x9e3779b9), 0x85ebca6b) | step;
  let [a, b, c, d] = [word(1), word(2), word(3), word(4)];
  const nextWord = (): number => {
    const mixed = a ^ (a << 11);
    [a, b, c] = [b, c, d];
    d = d ^ (d >>> 19) ^ mixed ^ (mixed >>> 8);
    return d >>> 0;
  };
  for (let discarded = 0; discarded < 32; discarded += 1) nextWord();

  /** 0 to below 1. */
  const fraction = (): number => nextWord() / 2 ** 32;
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
