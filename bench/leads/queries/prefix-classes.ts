import {
  beginning,
  commonWord,
  largeCountry,
  rareWord,
  smallCountry,
  usualLimit,
  wordOfRank,
  type QueryClass,
  type QueryContext,
} from './query-class.ts';
import { crowdedRange } from './filter-classes.ts';

/** Three letters with which very many words, names and handles begin. */
export const heavyBeginnings =
  'mar ana joh moh dav car mus fit fas lif rea pho tra tre pra pro con cha mas tas pas san cam mam lar soc sil'.split(
    ' ',
  );

const heavy = ({ draws }: QueryContext): string => heavyBeginnings[draws.below(heavyBeginnings.length)] ?? '';

/** Searches by beginnings of words. */
export const prefixClasses: readonly QueryClass[] = [
  {
    name: 'beginning of 3, heavy',
    about: 'three letters with which tens of thousands of terms begin',
    make: (context) => ({ query: heavy(context), limit: 1 + context.draws.below(100) }),
  },
  {
    name: 'beginning of 3, light',
    about: 'three letters that begin rare words',
    make: (context) => ({ query: beginning(rareWord(context), 3), limit: usualLimit }),
  },
  {
    name: 'beginning of 3 digits',
    about: 'digits with which the numbers in handles begin: many terms, one profile each',
    make: ({ draws }) => ({ query: String(100 + draws.below(900)), limit: usualLimit }),
  },
  {
    name: 'beginning of 4 or 5',
    about: 'of any word',
    make: (context) => ({
      query: beginning(wordOfRank(0, 20_000, context), 4 + context.draws.below(2)),
      limit: usualLimit,
    }),
  },
  {
    name: 'beginning of 7 or more',
    about: 'all but the last letter of a long frequent word',
    make: (context) => {
      const long = context.world.vocabulary.slice(0, 4000).filter((word) => word.length >= 8);
      const word = long[context.draws.rank(long.length)] ?? '';
      return { query: word.slice(0, -1), limit: usualLimit };
    },
  },
  {
    name: 'three beginnings',
    about: 'three heavy beginnings at once',
    make: (context) => ({
      query: `${heavy(context)} ${heavy(context)} ${heavy(context)}`,
      limit: usualLimit,
    }),
  },
  {
    name: 'beginning, small country',
    about: 'a heavy beginning with filters that few pass',
    make: (context) => ({
      query: heavy(context),
      country: smallCountry(context).code,
      gender: context.draws.chance(0.5) ? 'male' : 'female',
      limit: usualLimit,
    }),
  },
  {
    name: 'beginning, narrow low range',
    about: 'a heavy beginning within three crowded follower counts',
    make: (context) => ({
      query: heavy(context),
      ...crowdedRange(context.draws.below(100)),
      limit: usualLimit,
    }),
  },
  {
    name: 'beginning, rare word',
    about: 'a heavy beginning with a rare word: next to nobody',
    make: (context) => ({ query: `${heavy(context)} ${rareWord(context)}`, limit: usualLimit }),
  },
  {
    name: 'beginning, word, country',
    about: 'as somebody types: a frequent word and the first letters of another',
    make: (context) => ({
      query: `${commonWord(context)} ${beginning(wordOfRank(0, 3000, context), 3)}`,
      country: largeCountry(context).code,
      limit: usualLimit,
    }),
  },
];
