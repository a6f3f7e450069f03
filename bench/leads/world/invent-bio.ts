import type { Country, World } from './create-world.ts';
import type { Draws } from './draws.ts';
import type { Script } from './scripts.ts';
import { codeWord, codeWords } from './syllables.ts';
import {
  emojis,
  neverTogether,
  seldomTogether,
  togetherAtTheBottom,
  wordsOfTheFew,
  wordsOfTheMany,
} from './word-lists.ts';

export interface BioInput {
  followers: number;
  categoryWords: readonly string[];
  country: Country | undefined;
  city: string | undefined;
}

/** From this many followers on a profile has words of the many; below the other, of the few. */
export const manyFollowers = 50_000;
export const fewFollowers = 300;
/** Below, and only there, two words of `togetherAtTheBottom` meet. */
const bottomFollowers = 12;

const longestBio = 18;
const separators = [' ', ' ', ' ', ' ', ' | ', '\n', ', ', ' • '];

/** 0 to 18 drawn words and what goes with them; empty for one profile in ten. */
export const inventBio = (input: BioInput, world: World, draws: Draws): string => {
  const words = draws.chance(0.1) ? [] : drawnWords(input, world, draws);
  addTellingWords(words, input, draws);
  if (words.length === 0) return '';
  if (draws.chance(0.35)) words.push(listedAt(emojis, draws.rank(emojis.length)));
  return words.join(separators[draws.below(separators.length)]);
};

const drawnWords = ({ categoryWords, country, city }: BioInput, world: World, draws: Draws): string[] => {
  const length = 1 + draws.below(longestBio);
  if (country?.script !== undefined && draws.chance(0.5)) return [foreignText(country.script, length, draws)];
  const words: string[] = [];
  const hashtags = draws.chance(0.2);
  for (let left = length; left > 0; left -= 1) {
    const list = draws.chance(0.3) ? categoryWords : world.vocabulary;
    const word = listedAt(list, draws.rank(list.length));
    words.push(hashtags && left <= 3 ? `#${word}` : word);
  }
  if (draws.chance(0.02)) words.push(oddWord(draws.below(oddWords)));
  if (city !== undefined && draws.chance(0.3)) words.push(city);
  if (country !== undefined && draws.chance(0.7))
    words.push(listedAt(country.words, draws.rank(country.words.length)));
  return words;
};

const foreignText = ({ words, separator }: Script, length: number, draws: Draws): string => {
  const drawn = Array.from({ length }, () => listedAt(words, draws.rank(words.length)));
  return drawn.join(draws.chance(0.3) ? '、' : separator);
};

/** Words that tell how two conditions of a query meet: never, seldom, at one end of the order, in one country. */
const addTellingWords = (words: string[], { followers }: BioInput, draws: Draws): void => {
  const sign = draws.below(25);
  if (sign < neverTogether.length) words.push(listedAt(neverTogether, sign));
  const diet = draws.below(20);
  if (diet < seldomTogether.length) words.push(listedAt(seldomTogether, diet));
  else if (draws.chance(1 / 4000)) words.push(...seldomTogether.slice(draws.below(2)));
  const beginner = draws.below(20);
  if (beginner < togetherAtTheBottom.length) words.push(listedAt(togetherAtTheBottom, beginner));
  else if (followers < bottomFollowers && draws.chance(0.2)) words.push(...togetherAtTheBottom);
  if (draws.chance(followers >= manyFollowers ? 0.5 : 1 / 4000))
    words.push(listedAt(wordsOfTheMany, draws.below(wordsOfTheMany.length)));
  if (draws.chance(followers < fewFollowers ? 0.4 : 1 / 4000))
    words.push(listedAt(wordsOfTheFew, draws.below(wordsOfTheFew.length)));
};

const oddSyllables = 4;
/** So many that each is in one profile or none, like a slip of the pen or the name of a firm. */
const oddWords = Math.min(2 ** 23, codeWords(oddSyllables));
const oddWord = (number: number): string => `${codeWord(number, oddSyllables)}x`;

const listedAt = (list: readonly string[], place: number): string => list[place] ?? '';
