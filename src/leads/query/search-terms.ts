import { eachWord } from './each-word.ts';

/*
 * What a search by `query` means, for every engine (docs/contract.md, "Search"). A profile and a query are both
 * turned into terms by the functions here and in lead-terms.ts; a profile matches when each term of the query is
 * one of its terms or, from three characters on, the beginning of one. Engines hold terms and compare them as
 * plain strings; reference-search.ts does the same by a plain scan, and the tests hold engines against it.
 *
 * - Text is folded first (fold-text.ts). A word is a run of letters, digits and combining marks; everything else
 *   divides words: spaces, punctuation, underscores, emojis, `#` of a hashtag, `@` of a name, apostrophes.
 * - Chinese, Japanese, Thai, Lao, Khmer and Burmese put no spaces between words. A run of such letters gives its
 *   single characters and its pairs of neighbours as terms of a profile. In a query it gives the pairs alone, and
 *   a lone character itself, so that any two or more neighbouring characters of a text find it.
 * - Characters are counted as Unicode code points after folding. A word is cut after 64 of them, on both sides.
 * - Below three characters a term matches whole terms only.
 * - A query without any word (only punctuation or emojis) matches nothing. At most 200 characters (UTF-16 units)
 *   of a query are read and at most 24 different terms. `queryProblem` names these cases, so that a caller can
 *   be told before they pay.
 */

const maxQueryCharacters = 200;
const maxQueryTerms = 24;
const maxWordCharacters = 64;
/** From this many characters on, a query's term also matches the beginnings of terms. */
export const minPrefixCharacters = 3;

/** One condition of a query: a term, or with `isPrefix` also every term that begins with it. */
export interface QueryTerm {
  text: string;
  isPrefix: boolean;
}

/** Adds the terms of one text of a profile to `terms`. */
export const addTerms = (text: string, terms: Set<string>): void =>
  eachWord(text, (word, isUnspaced) => {
    if (!isUnspaced) {
      terms.add(cutWord(word));
      return;
    }
    let before = '';
    for (const character of word) {
      terms.add(character);
      if (before !== '') terms.add(before + character);
      before = character;
    }
  });

/** The conditions a query sets, all of which must hold. Without any, the query matches nothing. */
export const queryTerms = (query: string): QueryTerm[] =>
  allQueryTerms(query.slice(0, maxQueryCharacters))
    .slice(0, maxQueryTerms)
    .map((text) => ({ text, isPrefix: countCharacters(text) >= minPrefixCharacters }));

export type QueryProblem = 'no_words' | 'too_long' | 'too_many_words';

/** Why a query would not be searched as it stands; null when it would. */
export const queryProblem = (query: string): QueryProblem | null => {
  if (query.length > maxQueryCharacters) return 'too_long';
  const terms = allQueryTerms(query).length;
  if (terms === 0) return 'no_words';
  return terms > maxQueryTerms ? 'too_many_words' : null;
};

/** Whether a profile with `terms` meets every condition. */
export const meetsTerms = (terms: ReadonlySet<string>, conditions: readonly QueryTerm[]): boolean =>
  conditions.length > 0 &&
  conditions.every(({ text, isPrefix }) => terms.has(text) || (isPrefix && hasBeginning(terms, text)));

const hasBeginning = (terms: ReadonlySet<string>, beginning: string): boolean => {
  for (const term of terms) if (term.startsWith(beginning)) return true;
  return false;
};

/** Code points are one or two UTF-16 units: a word of no more units than that needs no counting. */
const cutWord = (word: string): string =>
  word.length <= maxWordCharacters ? word : Array.from(word).slice(0, maxWordCharacters).join('');

const pairs = (characters: string[]): string[] =>
  characters.slice(1).map((character, index) => `${characters[index] ?? ''}${character}`);

const allQueryTerms = (query: string): string[] => {
  const terms = new Set<string>();
  eachWord(query, (word, isUnspaced) => {
    const characters = Array.from(word);
    if (!isUnspaced) terms.add(cutWord(word));
    else for (const term of characters.length === 1 ? characters : pairs(characters)) terms.add(term);
  });
  return [...terms];
};

const countCharacters = (text: string): number => Array.from(text).length;
