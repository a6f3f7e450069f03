import { foldText } from '../query/fold-text.ts';
import type { Random } from './random.ts';

/** Parts of invented names, the most frequent first. No real person is meant. */
type Names = readonly [string, ...string[]];

export interface NameLists {
  given: { female: Names; male: Names };
  family: Names;
}

const givenStarts =
  'Am Bel Cor Dav El Fen Gal Hal Il Jor Kel Lum Mar Nor Ol Per Quil Ros Sel Tam Ul Ven Wil Xan Yol Zel';
const femaleEnds = 'ina essa ara ía elle une ora isa ené anta';
const maleEnds = 'an or eko ard ín us elo omir andré ett';
const familyStarts =
  'Alder Bram Crest Dun Elm Fair Glen Hollow Iron Jun Kest Lark Mor Nettle Oak Pell Quarr Rush Silver Thorn Umber Vale ' +
  'Wren Yarrow Zeph';
const familyEnds =
  'well wick mere stone brook dale field by ford holt moor shaw ton wood ridge ström berg vik ović ini éz aki ão eau owski';

/** Invents the names of one data set. `random` decides their order. */
export const inventNames = (random: Random): NameLists => ({
  given: {
    female: shuffled(combined(givenStarts, femaleEnds), random),
    male: shuffled(combined(givenStarts, maleEnds), random),
  },
  family: shuffled(combined(familyStarts, familyEnds), random),
});

const combined = (starts: string, ends: string): string[] =>
  starts.split(' ').flatMap((start) => ends.split(' ').map((end) => `${start}${end}`));

const shuffled = (list: string[], random: Random): Names => {
  const keyed = list.map((name) => ({ name, key: random.fraction() })).sort((a, b) => a.key - b.key);
  const [first = '', ...rest] = keyed.map(({ name }) => name);
  return [first, ...rest];
};

const maxBaseCharacters = 24;

type UsernameParts = Record<'given' | 'family' | 'word', string>;

/** Invents a handle of lower-case letters, digits, dots and underscores that is not in `taken`, and adds it there. */
export const inventUsername = (
  parts: UsernameParts,
  { random, taken }: { random: Random; taken: Set<string> },
): string => {
  const letters = foldText(random.pick(shapes)(parts)).replace(/[^a-z._]/g, '');
  const base = letters.slice(0, maxBaseCharacters).replace(/[._]+$/, '');
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
  ({ family, word }) => `${family}_${word}`,
  ({ given, family, word }) => `${given}${family.charAt(0)}_${word}`,
  ({ family, word }) => `${family}.${word}`,
];
