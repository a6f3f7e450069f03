import { foldText } from '../../../src/leads/query/fold-text.ts';
import type { Draws } from './draws.ts';
import { codeWord } from './syllables.ts';

export interface UsernameParts {
  given: string;
  family: string;
  /** A word of what the profile is about, of at most seven letters where it is to be the end. */
  word: string;
  /** Another for each profile, below `maxProfiles`. */
  number: number;
}

const maxEndLetters = 7;

/**
 * A handle of letters, digits, dots and underscores. No two profiles have the same, whatever they are called: each
 * shape tells the whole `number`, and the last eight characters tell the shape.
 */
export const inventUsername = ({ given, family, word, number }: UsernameParts, draws: Draws): string => {
  const first = plain(given);
  const divider = dividers[draws.below(dividers.length)] ?? '';
  const shape = draws.fraction();
  if (shape < 0.2) return `${first}${divider}${plain(family)}${String(number).padStart(5, '0')}`;
  if (shape < 0.6) {
    const digits = String(number % 100).padStart(2, '0');
    const start = shape < 0.4 ? first : plain(family);
    return `${start}${divider}${codeWord(Math.floor(number / 100), 3)}${digits}`;
  }
  if (shape < 0.61) return `${capitalised(first)}${capitalised(codeWord(number, 4))}`;
  if (shape < 0.85) return `${first}${divider}${codeWord(number, 4)}`;
  const end = plain(word);
  return `${codeWord(number, 4)}${shape < 0.93 ? '.' : '_'}${end.length > maxEndLetters ? 'studio' : end}`;
};

const dividers = ['', '', '.', '_'];

const plain = (name: string): string => {
  const known = plainNames.get(name);
  if (known !== undefined) return known;
  const made = foldText(name).replace(/[^a-z]/g, '');
  if (plainNames.size < maxPlainNames) plainNames.set(name, made);
  return made;
};

const maxPlainNames = 100_000;
const plainNames = new Map<string, string>();

const capitalised = (word: string): string => `${word.charAt(0).toUpperCase()}${word.slice(1)}`;
