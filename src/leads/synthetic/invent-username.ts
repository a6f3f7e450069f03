import { foldText } from '../query/fold-text.ts';
import type { Random } from './random.ts';

const maxBaseCharacters = 24;

export interface UsernameParts {
  given: string;
  family: string;
  /** A word for the subject of the profile. */
  word: string;
}

/** Invents a handle of lower-case letters, digits, dots and underscores that is not in `taken`, and adds it there. */
export const inventUsername = (
  parts: UsernameParts,
  { random, taken }: { random: Random; taken: Set<string> },
): string => {
  const base = random
    .pick(shapes)(plain(parts))
    .slice(0, maxBaseCharacters)
    .replace(/[._]+$/, '');
  let username = random.chance(0.2) ? `${base}${random.below(100)}` : base;
  for (let digits = 2; taken.has(username); digits += 1)
    username = `${base}${random.below(10 ** Math.min(digits, 9))}`;
  taken.add(username);
  return username;
};

type Shape = (parts: UsernameParts) => string;

const shapes: readonly [Shape, ...Shape[]] = [
  ({ given, family }) => `${given}.${family}`,
  ({ given, family }) => `${given}_${family}`,
  ({ given, family }) => `${given}${family}`,
  ({ given, family }) => `${given}.${family.charAt(0)}`,
  ({ given, word }) => `${given}.${word}`,
  ({ given, word }) => `${word}_with_${given}`,
  ({ given, word }) => `${word}by${given}`,
  ({ given, family }) => `the.${given}.${family}`,
  ({ family, word }) => `${family}_${word}`,
  ({ given, family, word }) => `${given}${family.charAt(0)}_${word}`,
  ({ given }) => `its${given}_`,
  ({ family, word }) => `${family}.${word}`,
];

const plain = ({ given, family, word }: UsernameParts): UsernameParts => ({
  given: letters(given),
  family: letters(family),
  word: letters(word),
});

const letters = (text: string): string => foldText(text).replace(/[^a-z]/g, '');
