import { foldText } from './fold-text.ts';
import { onlyDividers, onlySpaced, onlyUnspaced } from './word-patterns.ts';

/**
 * What one character is to a text that is folded and cut into words:
 * - `divider`: it stands between words.
 * - `letter`, `changedLetter`: it belongs to a word and folds to itself, or to what `foldedLetter` says.
 * - `unspacedLetter`, `changedUnspacedLetter`: the same, of a script written without spaces.
 * - `dropped`: an accent; folded text is as if it had not been there.
 * - `entangled`: what becomes of it and of its neighbours shows only when they are folded together.
 *
 * So text without entangled characters may be folded character by character. That rests on two facts: every character
 * of the other kinds but the accents folds to something that begins anew (no combining mark, nothing that Unicode ever
 * composes with what stands before it), and accents leave nothing behind that their neighbours would combine with.
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

/** The two planes of living scripts, emojis and mathematical letters; what lies beyond counts as entangled. */
const listedCodePoints = 0x20000;

// Filled as characters occur: a text has few different ones, and finding out costs a hundred times the look-up.
const kindByCodePoint = new Uint8Array(listedCodePoints);
const foldedByCodePoint = new Map<number, string>();

/** One of `characterKinds`, never `unknown`. */
export const characterKind = (codePoint: number): number => {
  if (codePoint >= listedCodePoints) return characterKinds.entangled;
  const kind = kindByCodePoint[codePoint] ?? characterKinds.unknown;
  return kind === characterKinds.unknown ? learn(codePoint) : kind;
};

/** What a letter of a `changed…` kind folds to: one or more letters, all of its script's kind. */
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
 * What may combine with the character before it: combining marks, vowels and finals of Hangul, halves of surrogate
 * pairs, and, as newer versions of Unicode compose letters there, every letter beyond the first plane.
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
