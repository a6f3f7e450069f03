import { foldText, isAscii } from './fold-text.ts';

/**
 * Calls `take` with each word of `text`, folded and in order. `isUnspaced` is true for a run of a script without spaces.
 */
export const eachWord = (text: string, take: (word: string, isUnspaced: boolean) => void): void => {
  // Most texts: this way is twice as fast, and an import does it to every text of millions of profiles.
  if (isAscii(text)) for (const word of text.toLowerCase().match(asciiWords) ?? []) take(word, false);
  else
    for (const { 0: word, groups } of foldText(text).matchAll(words))
      take(word, groups?.['unspaced'] !== undefined);
};

const asciiWords = /[a-z0-9]+/g;

/*
 * Unicode's script extensions tell unspaced scripts from others, so a mark that several scripts share belongs to each
 * of them. A spaced word ends where an unspaced script begins.
 */
const scripts = ['Han', 'Hira', 'Kana', 'Thai', 'Lao', 'Khmr', 'Mymr'];
const unspacedLetters = `[${scripts.map((script) => `\\p{scx=${script}}`).join('')}]`;
const wordCharacters = String.raw`[\p{L}\p{N}\p{M}]`;
const words = new RegExp(
  `(?<unspaced>[${wordCharacters}&&${unspacedLetters}]+)|[${wordCharacters}--${unspacedLetters}]+`,
  'gv',
);
