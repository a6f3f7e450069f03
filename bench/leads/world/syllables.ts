import { scramble, type Draws } from './draws.ts';

const starts = 'm s c t p b r l d n f g v k h j w z y st pr tr br cr ch sh th gr pl fl'.split(' ');
const vowels = 'a e i o u ai ea ou io'.split(' ');
const ends = 'n r s l t m nd x st ck'.split(' ');
const accented: Record<string, string> = { a: 'á', e: 'é', i: 'í', o: 'ö', u: 'ü', n: 'ñ', c: 'ç' };

/**
 * `count` different made-up words of one to four syllables. Sounds are skewed as in a language, so that some
 * beginnings are shared by very many words; one word in thirty has an accent.
 */
export const inventWords = (count: number, draws: Draws): string[] => {
  const made = new Set<string>();
  while (made.size < count) {
    let word = '';
    for (let left = 1 + draws.rank(4) + (draws.chance(0.8) ? 1 : 0); left > 0; left -= 1) {
      word += `${pick(starts, draws)}${pick(vowels, draws)}`;
      if (draws.chance(0.25)) word += pick(ends, draws);
    }
    if (word.length < 3 || word.length > 18) continue;
    made.add(draws.chance(1 / 30) ? word.replace(/[aeiounc]/, (letter) => accented[letter] ?? letter) : word);
  }
  return [...made];
};

const pick = (list: readonly string[], draws: Draws): string => list[draws.rank(list.length)] ?? '';

const consonants = 'bcdfghjklmnprstv';
const plainVowels = 'aeiou';
const syllableCount = consonants.length * plainVowels.length;

/** How many words of `length` syllables `codeWord` tells apart. */
export const codeWords = (length: number): number => syllableCount ** length;

/** A pronounceable word of `length` syllables of two letters, another for each `number` below `codeWords(length)`. */
export const codeWord = (number: number, length: number): string => {
  let word = '';
  let rest = number;
  for (let left = length; left > 0; left -= 1) {
    const syllable = rest % syllableCount;
    word +=
      consonants.charAt(syllable % consonants.length) + plainVowels.charAt(syllable / consonants.length);
    rest = Math.floor(rest / syllableCount);
  }
  return word;
};

const indexBits = 25;
/** How many profiles can have names of their own. */
export const maxProfiles = 2 ** indexBits;

/** Another number below `maxProfiles` for each index below it, in no visible order. */
export const shuffleIndex = (index: number, seed: number): number => {
  const mask = maxProfiles - 1;
  const first = Math.imul(index ^ scramble(seed), 0x9e3779b1) & mask;
  const second = Math.imul(first ^ (first >>> 11), 0x85ebca6b) & mask;
  return second ^ (second >>> 13);
};
