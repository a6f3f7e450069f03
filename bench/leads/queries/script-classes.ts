import type { World } from '../world/create-world.ts';
import { anyOf, usualLimit, type QueryClass, type QueryContext } from './query-class.ts';

/** Searches in scripts that are not Latin. */
export const scriptClasses: readonly QueryClass[] = [
  {
    name: 'unspaced pairs',
    about: 'two to four neighbouring characters of Chinese, Japanese or Thai',
    make: (context) => ({
      query: textOf({ isSpaced: false, characters: 2 + context.draws.below(3) }, context),
      limit: usualLimit,
    }),
  },
  {
    name: 'unspaced long',
    about: 'eight to twelve characters written without spaces: as many pairs, all to be met',
    make: (context) => ({
      query: textOf({ isSpaced: false, characters: 8 + context.draws.below(5) }, context),
      limit: usualLimit,
    }),
  },
  {
    name: 'one character',
    about: 'a lone character of Chinese, Japanese or Thai, with a country',
    make: (context) => ({
      query: textOf({ isSpaced: false, characters: 1 }, context),
      country: anyOf(['JP', 'TH', 'TW', 'HK', 'SG', 'US'], context),
      limit: usualLimit,
    }),
  },
  {
    name: 'other spaced scripts',
    about: 'two words of Arabic, Cyrillic, Greek or Korean',
    make: (context) => {
      const script = spaced(context.world)[context.draws.below(4)];
      const word = (): string => script?.words[context.draws.rank(200)] ?? '';
      return { query: `${word()} ${word()}`, limit: usualLimit };
    },
  },
];

const spaced = (world: World): World['scripts'] => world.scripts.filter(({ separator }) => separator === ' ');

const textOf = (
  { isSpaced, characters }: { isSpaced: boolean; characters: number },
  { world, draws }: QueryContext,
): string => {
  const scripts = world.scripts.filter(({ separator }) => (separator === ' ') === isSpaced);
  const { words = [] } = scripts[draws.below(scripts.length)] ?? {};
  let text = '';
  while (Array.from(text).length < characters) text += words[draws.rank(words.length)] ?? 'あ';
  return Array.from(text).slice(0, characters).join('');
};
