import {
  anyCategory,
  anyGender,
  anyOf,
  anyProfile,
  commonWord,
  largeCountry,
  largestLimit,
  rareWord,
  smallCountry,
  someOf,
  usualLimit,
  wordOfRank,
  type QueryClass,
} from './query-class.ts';

const common = (count: number): QueryClass['make'] => {
  return (context) => ({
    query: someOf(context.world.vocabulary.slice(0, 40), count, context).join(' '),
    limit: usualLimit,
  });
};

/** Searches by words as people make them, alone and with filters. */
export const wordClasses: readonly QueryClass[] = [
  {
    name: 'common word',
    about: 'one of the 300 most frequent words',
    make: (context) => ({ query: wordOfRank(0, 300, context), limit: usualLimit }),
  },
  {
    name: 'common word, limit 1',
    about: 'the same, one result',
    make: (context) => ({ query: wordOfRank(0, 300, context), limit: 1 }),
  },
  {
    name: 'common word, limit 100',
    about: 'the same, a hundred results',
    make: (context) => ({ query: wordOfRank(0, 300, context), limit: largestLimit }),
  },
  {
    name: 'middling word',
    about: 'a word of some thousands of a million profiles',
    make: (context) => ({ query: wordOfRank(500, 5000, context), limit: usualLimit }),
  },
  {
    name: 'rare word',
    about: 'a word of some dozens of a million profiles',
    make: (context) => ({ query: rareWord(context), limit: usualLimit }),
  },
  {
    name: 'unknown word',
    about: 'a word that no profile has',
    make: (context) => ({ query: `qx${rareWord(context)}`, limit: usualLimit }),
  },
  { name: 'two common words', about: 'two of the 40 most frequent words', make: common(2) },
  { name: 'three common words', about: 'three of the 40 most frequent words', make: common(3) },
  {
    name: 'common and rare word',
    about: 'a frequent word and one of some dozens of a million profiles; most meet nowhere',
    make: (context) => ({ query: `${commonWord(context)} ${rareWord(context)}`, limit: usualLimit }),
  },
  {
    name: 'common and unknown word',
    about: 'a frequent word and a slip of the pen',
    make: (context) => ({ query: `${commonWord(context)} qx${rareWord(context)}`, limit: usualLimit }),
  },
  {
    name: 'two words, country, gender',
    about: 'two frequent words in a large country',
    make: (context) => ({
      query: `${wordOfRank(0, 40, context)} ${wordOfRank(40, 150, context)}`,
      country: largeCountry(context).code,
      gender: anyGender(context),
      limit: usualLimit,
    }),
  },
  {
    name: 'all filters',
    about: 'a frequent word with country, category, gender and a range',
    make: (context) => ({
      query: commonWord(context),
      country: largeCountry(context).code,
      category: anyCategory(context),
      gender: anyGender(context),
      minFollowers: 200 + context.draws.below(1000),
      maxFollowers: 5000 + context.draws.below(100_000),
      limit: usualLimit,
    }),
  },
  {
    name: 'word, small country',
    about: 'a middling word in a country of few profiles: next to nobody',
    make: (context) => ({
      query: wordOfRank(100, 3000, context),
      country: smallCountry(context).code,
      limit: usualLimit,
    }),
  },
  {
    name: 'two-letter word',
    about: 'below three characters, so whole words only; a great many profiles have it',
    make: (context) => ({
      query: anyOf(['de', 'to', 'my', 'la', 'of', 'in', 'dj'], context),
      country: largeCountry(context).code,
      gender: anyGender(context),
      limit: 1 + context.draws.below(largestLimit),
    }),
  },
  {
    name: 'username, whole',
    about: 'somebody by name',
    make: (context) => ({ query: anyProfile(context).username, limit: usualLimit }),
  },
  {
    name: 'username, part',
    about: 'a beginning of five to seven characters',
    make: (context) => ({
      query: anyProfile(context).username.slice(0, 5 + context.draws.below(3)),
      limit: usualLimit,
    }),
  },
  {
    name: 'full name',
    about: 'a given and a family name',
    make: (context) => {
      const { given, family } = context.world;
      const first = context.draws.chance(0.5) ? given.female : given.male;
      return {
        query: `${first[context.draws.rank(first.length)] ?? ''} ${family[context.draws.rank(family.length)] ?? ''}`,
        limit: usualLimit,
      };
    },
  },
];
