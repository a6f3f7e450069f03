/** Random numbers that a seed and an index alone decide, so that any profile can be made without those before it. */
export interface Draws {
  /** Begins the numbers of `index`, a whole number from 0 to 2^32 - 1. */
  restart(index: number): void;
  /** 0 to below 1. */
  fraction(): number;
  /** 0 to `count` - 1, all alike. */
  below(count: number): number;
  /** 0 to `count` - 1 by Zipf's law: n comes as often as 1 / (n + 1). */
  rank(count: number): number;
  chance(probability: number): boolean;
}

/** xoroshiro64** (Blackman and Vigna): 64 bits of state, so that the numbers of two indexes practically never meet. */
export const createDraws = (seed: number): Draws => {
  let a = 0;
  let b = 0;

  const nextWord = (): number => {
    const word = Math.imul(rotate(Math.imul(a, 0x9e3779bb), 5), 5);
    const mixed = a ^ b;
    a = rotate(a, 26) ^ mixed ^ (mixed << 9);
    b = rotate(mixed, 13);
    return word >>> 0;
  };
  const fraction = (): number => nextWord() / 2 ** 32;

  return {
    restart: (index) => {
      a = scramble(seed ^ scramble(index));
      b = scramble(index ^ scramble(seed ^ 0x5bd1e995)) | 1;
    },
    fraction,
    below: (count) => Math.floor(fraction() * count),
    rank: (count) => Math.min(count, Math.floor((count + 1) ** fraction())) - 1,
    chance: (probability) => fraction() < probability,
  };
};

const rotate = (word: number, bits: number): number => (word << bits) | (word >>> (32 - bits));

/** The finalizer of MurmurHash3: each bit of `word` changes about half of the bits of the result. */
export const scramble = (word: number): number => {
  const first = Math.imul(word ^ (word >>> 16), 0x85ebca6b);
  const second = Math.imul(first ^ (first >>> 13), 0xc2b2ae35);
  return second ^ (second >>> 16);
};
