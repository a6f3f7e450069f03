import { foldText } from './fold-text.ts';
import { onlyDividers, onlySpaced, onlyUnspaced } from './word-patterns.ts';

/**
 * Classifies a character for folding text and cutting it into words:
 * - `divider`: separates words.
 * - `letter`, `changedLetter`: belongs to a word. It folds to itself, or to `foldedLetter`.
 * - `unspacedLetter`, `changedUnspacedLetter`: the same, in a script without spaces.
 * - `dropped`: an accent, which folding removes.
 * - `entangled`: must be folded together with its neighbours.
 *
 * Text without entangled characters can be folded character by character, for two reasons. Every other kind except
 * accents folds to a text that does not combine with the text before it. A removed accent leaves nothing for its
 * neighbours to combine with.
 */
export const characterKinds = {
  unknown: 0,
  divider: 1,
  dropped: 2,
  entangled: 3,
  letter: 4,
  changedLetter: 5,
  unspacedLetter: 6,
  changedUnspacedLetter: 7,
} as const;

/** The two planes of living scripts, emojis and mathematical letters. Characters beyond them count as entangled. */
const listedCodePoints = 0x20000;

// Filled on demand: a text has few different characters, and classifying one costs a hundred times the look-up.
const kindByCodePoint = new Uint8Array(listedCodePoints);
const foldedByCodePoint = new Map<number, string>();

/** Returns one of `characterKinds`, never `unknown`. */
export const characterKind = (codePoint: number): number => {
  if (codePoint >= listedCodePoints) return characterKinds.entangled;
  const kind = kindByCodePoint[codePoint] ?? characterKinds.unknown;
  return kind === characterKinds.unknown ? learn(codePoint) : kind;
};

/** Returns the folded form of a `changed…` letter: one or more letters of the same kind. */
export const foldedLetter = (codePoint: number): string => foldedByCodePoint.get(codePoint) ?? '';

const learn = (codePoint: number): number => {
  const character = String.fromCodePoint(codePoint);
  const folded = foldText(character);
  const kind = kindOf(character, folded);
  kindByCodePoint[codePoint] = kind;
  if (kind === characterKinds.changedLetter || kind === characterKinds.changedUnspacedLetter)
    foldedByCodePoint.set(codePoint, folded);
  return kind;
};

/**
 * Matches characters that may combine with the one before: combining marks, vowels and finals of Hangul, halves of
 * surrogate pairs, and every letter beyond the first plane, where newer Unicode versions compose letters.
 */
const looksBack = /^[\p{M}\p{Cs}\u1160-\u11FF\u{10000}-\u{10FFFF}]/u;

const kindOf = (character: string, folded: string): number => {
  if (folded === '') return characterKinds.dropped;
  if (/^\p{Cs}/u.test(folded)) return characterKinds.entangled;
  if (onlyDividers.test(folded)) return characterKinds.divider;
  if (looksBack.test(folded) || /^\p{M}/u.test(character)) return characterKinds.entangled;
  const isChanged = folded !== character;
  if (onlySpaced.test(folded)) return isChanged ? characterKinds.changedLetter : characterKinds.letter;
  if (onlyUnspaced.test(folded))
    return isChanged ? characterKinds.changedUnspacedLetter : characterKinds.unspacedLetter;
  return characterKinds.entangled;
};
