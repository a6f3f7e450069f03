import { eachWord } from './each-word.ts';

/*
 * Defines a search by `query` for every engine (docs/contract.md, "Search"). The functions here and in lead-terms.ts
 * turn profiles and queries into terms. A profile matches when each term of the query is one of its terms or, from
 * three characters on, the beginning of one. Engines store terms and compare them as plain strings. Tests compare them
 * with test/leads/reference-search.ts, a plain scan.
 *
 * - Text is folded first (fold-text.ts). A word is a run of letters, digits and combining marks. Everything else
 *   separates words: spaces, punctuation, underscores, emojis, `#` of a hashtag, `@` of a name, apostrophes.
 * - Chinese, Japanese, Thai, Lao, Khmer and Burmese have no spaces between words. In a profile, a run of such letters
 *   gives its single characters and its pairs of neighbours. In a query it gives only the pairs, or a lone character
 *   itself. So any two or more neighbouring characters of a text find it.
 * - Characters are Unicode code points after folding. A word is cut after 64 of them, in profiles and queries.
 * - A term below three characters matches whole terms only.
 * - A query without any word (only punctuation or emojis) matches nothing. At most 200 characters (UTF-16 units), 10
 *   different words and 24 different terms of a query are read. A run of letters without spaces counts as one word.
 *   `queryProblem` reports these cases, so that callers know before they pay.
 */

const maxQueryCharacters = 200;
const maxQueryWords = 10;
const maxQueryTerms = 24;
const maxWordCharacters = 64;
/** From this length on, a query term also matches beginnings of terms. */
const minPrefixCharacters = 3;

/** One condition of a query: a term, or with `isPrefix` every term that begins with it. */
export interface QueryTerm {
  text: string;
  isPrefix: boolean;
}

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

/** Returns the conditions of a query, which must all hold. A query without conditions matches nothing. */
export const queryTerms = (query: string): QueryTerm[] =>
  readQuery(query.slice(0, maxQueryCharacters))
    .terms.slice(0, maxQueryTerms)
    .map((text) => ({ text, isPrefix: countCharacters(text) >= minPrefixCharacters }));

export type QueryProblem = 'no_words' | 'too_long' | 'too_many_words' | 'too_many_terms';

/** Returns the reason why a query cannot be searched as it stands, or null. */
export const queryProblem = (query: string): QueryProblem | null => {
  if (query.length > maxQueryCharacters) return 'too_long';
  const { words, terms } = readQuery(query);
  if (words === 0) return 'no_words';
  if (words > maxQueryWords) return 'too_many_words';
  return terms.length > maxQueryTerms ? 'too_many_terms' : null;
};

export const meetsTerms = (terms: ReadonlySet<string>, conditions: readonly QueryTerm[]): boolean =>
  conditions.length > 0 &&
  conditions.every(
    ({ text, isPrefix }) =>
      terms.has(text) || (isPrefix && terms.values().some((term) => term.startsWith(text))),
  );

/** A code point has one or two UTF-16 units, so a word of at most this many units needs no counting. */
const cutWord = (word: string): string =>
  word.length <= maxWordCharacters ? word : Array.from(word).slice(0, maxWordCharacters).join('');

const pairs = (characters: string[]): string[] =>
  characters.slice(1).map((character, index) => `${characters[index] ?? ''}${character}`);

/** Returns the number of different words, and the terms of the first of them. */
const readQuery = (query: string): { words: number; terms: string[] } => {
  const words = new Set<string>();
  const terms = new Set<string>();
  eachWord(query, (word, isUnspaced) => {
    words.add(word);
    if (words.size > maxQueryWords) return;
    const characters = Array.from(word);
    if (!isUnspaced) terms.add(cutWord(word));
    else for (const term of characters.length === 1 ? characters : pairs(characters)) terms.add(term);
  });
  return { words: words.size, terms: [...terms] };
};

const countCharacters = (text: string): number => Array.from(text).length;
