import { LRUCache } from 'lru-cache';
import { characterKind, characterKinds, foldedLetter } from './character-kinds.ts';
import { foldText, isAscii } from './fold-text.ts';
import { words } from './word-patterns.ts';

/** Takes a folded word; `isUnspaced` where it is a run of a script written without spaces. */
export type TakeWord = (word: string, isUnspaced: boolean) => void;

/**
 * Hands the words of `text` to `take`, folded and in their order: as if the whole text were folded and then cut, at a
 * fraction of the cost. An import does this to every text of millions of profiles.
 */
export const eachWord = (text: string, take: TakeWord): void => {
  if (isAscii(text)) eachWordOfAscii(text.toLowerCase(), take);
  else eachWordOfAny(text, take);
};

const eachWordOfAscii = (text: string, take: TakeWord): void => {
  let start = -1;
  for (let index = 0; index < text.length; index += 1) {
    if (isAsciiLetter(text.charCodeAt(index))) {
      if (start === -1) start = index;
    } else if (start !== -1) {
      take(text.slice(start, index), false);
      start = -1;
    }
  }
  if (start !== -1) take(text.slice(start), false);
};

/** Character by character; around an entangled one, from ASCII divider to ASCII divider, as a whole. */
const eachWordOfAny = (text: string, take: TakeWord): void => {
  /** Where the present word begins; -1 between words. */
  let start = -1;
  let isUnspaced = false;
  /** The present word folded, from the first character on that folding changes; null while it is a slice of the text. */
  let changed: string | null = null;
  let stretchStart = 0;
  let takenOfStretch = 0;

  let index = 0;
  while (index < text.length) {
    const codePoint = text.codePointAt(index) ?? 0;
    const next = index + (codePoint > 0xffff ? 2 : 1);
    const kind = characterKind(codePoint);
    if (kind === characterKinds.entangled) {
      const end = endOfStretch(text, next);
      for (const word of wordsOfStretch(text.slice(stretchStart, end)).slice(takenOfStretch))
        take(word.text, word.isUnspaced);
      start = -1;
      changed = null;
      stretchStart = end;
      takenOfStretch = 0;
      index = end;
      continue;
    }
    if (kind === characterKinds.dropped) {
      if (start !== -1) changed ??= text.slice(start, index);
      index = next;
      continue;
    }
    const isLetter = kind >= characterKinds.letter;
    const isOfUnspaced = kind >= characterKinds.unspacedLetter;
    if (start !== -1 && (!isLetter || isOfUnspaced !== isUnspaced)) {
      take(changed ?? text.slice(start, index), isUnspaced);
      takenOfStretch += 1;
      start = -1;
      changed = null;
    }
    if (isLetter) {
      if (start === -1) start = index;
      isUnspaced = isOfUnspaced;
      if (kind === characterKinds.changedLetter || kind === characterKinds.changedUnspacedLetter)
        changed = (changed ?? text.slice(start, index)) + foldedLetter(codePoint);
      else if (changed !== null) changed += text.slice(index, next);
    } else if (codePoint < 0x80) {
      stretchStart = next;
      takenOfStretch = 0;
    }
    index = next;
  }
  if (start !== -1) take(changed ?? text.slice(start), isUnspaced);
};

/**
 * The next ASCII divider. Nothing reaches across one: no character composes with it but accents that are dropped, and
 * marks are never ordered across it.
 */
const endOfStretch = (text: string, from: number): number => {
  for (let index = from; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80 && characterKind(unit) === characterKinds.divider) return index;
  }
  return text.length;
};

interface Word {
  text: string;
  isUnspaced: boolean;
}

const mostKeptStretches = 10_000;
const longestKeptStretch = 32;
/** Words of Indic scripts, which come again and again. */
const keptStretches = new LRUCache<string, Word[]>({ max: mostKeptStretches });

const wordsOfStretch = (stretch: string): readonly Word[] => {
  const kept = keptStretches.get(stretch);
  if (kept !== undefined) return kept;
  const found = Array.from(foldText(stretch).matchAll(words), (match) => ({
    text: match[0],
    isUnspaced: match.groups?.['unspaced'] !== undefined,
  }));
  if (stretch.length <= longestKeptStretch) keptStretches.set(stretch, found);
  return found;
};

/** Of lower-case text. */
const isAsciiLetter = (unit: number): boolean => (unit >= 97 && unit <= 122) || (unit >= 48 && unit <= 57);
