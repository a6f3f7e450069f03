import { createDraws } from './draws.ts';
import { inventScripts, type Script } from './scripts.ts';
import { inventWords } from './syllables.ts';
import {
  categories,
  countries,
  frequentFamilyNames,
  frequentGivenNames,
  frequentWords,
  topicalWords,
} from './word-lists.ts';

const vocabularySize = 65_000;
const givenNames = 1500;
const familyNames = 4000;
const citiesPerCountry = 40;
const wordsPerCountry = 25;
const inventedWordsPerCategory = 60;

/** What profiles are made of, and what queries are made from. Every list has its most frequent member first. */
export interface World {
  seed: number;
  /** Words of bios; drawn by Zipf's law. */
  vocabulary: readonly string[];
  categories: readonly { name: string; words: readonly string[] }[];
  countries: readonly Country[];
  scripts: readonly Script[];
  given: { female: readonly string[]; male: readonly string[] };
  family: readonly string[];
}

export interface Country {
  code: string;
  cities: readonly string[];
  /** Words frequent in its profiles and next to never in others. */
  words: readonly string[];
  /** Of half of its bios; absent where Latin letters are written. */
  script: Script | undefined;
}

/** The world that `seed` decides. Takes some tenths of a second; holds some megabytes. */
export const createWorld = (seed: number): World => {
  const draws = createDraws(seed);
  // Above the index of any profile, so that the world and the profiles share no numbers.
  draws.restart(2 ** 32 - 1);
  const properWords = countries.length * (citiesPerCountry + wordsPerCountry);
  const words = inventWords(vocabularySize + 2 * givenNames + familyNames + properWords, draws);
  const invented = words.splice(0, vocabularySize);
  const names = words.splice(0, 2 * givenNames + familyNames).map(capitalised);
  const scripts = inventScripts(draws);

  return {
    seed,
    vocabulary: [...frequentWords, ...topicalWords, ...invented],
    categories: categories.map((name, place) => ({
      name,
      words: [
        ...topicalWords.filter((_, index) => index % categories.length === place),
        ...Array.from({ length: inventedWordsPerCategory }, () => invented[draws.below(20_000)] ?? ''),
      ],
    })),
    countries: countries.map((code, place) => {
      const own = words.slice(place * (citiesPerCountry + wordsPerCountry));
      return {
        code,
        cities: own.slice(0, citiesPerCountry).map(capitalised),
        words: own.slice(citiesPerCountry, citiesPerCountry + wordsPerCountry),
        script: scripts.find((script) => script.countries.has(code)),
      };
    }),
    scripts,
    given: {
      female: [...frequentGivenNames.female, ...names.slice(0, givenNames)],
      male: [...frequentGivenNames.male, ...names.slice(givenNames, 2 * givenNames)],
    },
    family: [...frequentFamilyNames, ...names.slice(2 * givenNames)],
  };
};

const capitalised = (word: string): string => `${word.charAt(0).toUpperCase()}${word.slice(1)}`;
