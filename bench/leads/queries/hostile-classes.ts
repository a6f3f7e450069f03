import { leadTerms } from '../../../src/leads/query/lead-terms.ts';
import { fewFollowers, manyFollowers } from '../world/invent-bio.ts';
import {
  neverTogether,
  seldomTogether,
  togetherAtTheBottom,
  wordsOfTheFew,
  wordsOfTheMany,
} from '../world/word-lists.ts';
import { crowdedRange } from './filter-classes.ts';
import { heavyBeginnings } from './prefix-classes.ts';
import {
  anyGender,
  anyOf,
  anyProfile,
  beginning,
  commonWord,
  largeCountry,
  someOf,
  usualLimit,
  wordOfRank,
  type QueryClass,
  type QueryContext,
} from './query-class.ts';

const maxTerms = 10;
const longestQuery = 200;

/**
 * Searches where engines do worst: conditions that are frequent each and meet nowhere, or only at the far end of the
 * order of results, and as many conditions as a query can have.
 */
export const hostileClasses: readonly QueryClass[] = [
  {
    name: 'never together, two',
    about: 'two words, each in 4 % of profiles, of which no profile has both',
    make: (context) => ({ query: someOf(neverTogether, 2, context).join(' '), limit: anyOdd(context) }),
  },
  {
    name: 'never together, three',
    about: 'three such words with a gender',
    make: (context) => ({
      query: someOf(neverTogether, 3, context).join(' '),
      gender: anyGender(context),
      limit: usualLimit,
    }),
  },
  {
    name: 'seldom together',
    about: 'three words, each in 5 % of profiles; one profile in some thousands has all',
    make: (context) => ({ query: someOf(seldomTogether, 3, context).join(' '), limit: anyOdd(context) }),
  },
  {
    name: 'together at the bottom',
    about: 'two words, each in 5 % of profiles, that meet only among the last results',
    make: (context) => ({ query: someOf(togetherAtTheBottom, 2, context).join(' '), limit: anyOdd(context) }),
  },
  {
    name: 'word of another country',
    about: "a country's own word with another large country",
    make: (context) => {
      const home = largeCountry(context);
      return {
        query: home.words[context.draws.below(6)] ?? '',
        country: largeCountry(context, 8).code,
        limit: usualLimit,
      };
    },
  },
  {
    name: 'word of the many, few followers',
    about: 'a word of large profiles below the followers they have',
    make: (context) => ({
      query: `${anyOf(wordsOfTheMany, context)} ${commonWord(context)}`,
      maxFollowers: manyFollowers / 2 - context.draws.below(20_000),
      limit: usualLimit,
    }),
  },
  {
    name: 'word of the few, many followers',
    about: 'a word of small profiles above the followers they have',
    make: (context) => ({
      query: `${anyOf(wordsOfTheFew, context)} ${commonWord(context)}`,
      minFollowers: fewFollowers + context.draws.below(20_000),
      limit: usualLimit,
    }),
  },
  {
    name: 'common word, low range',
    about: 'a frequent word among those of few followers',
    make: (context) => ({
      query: wordOfRank(0, 300, context),
      maxFollowers: 160 + context.draws.below(300),
      limit: usualLimit,
    }),
  },
  {
    name: 'common word, narrow low range',
    about: 'a frequent word within three crowded follower counts',
    make: (context) => ({
      query: wordOfRank(0, 300, context),
      ...crowdedRange(context.draws.below(100)),
      limit: usualLimit,
    }),
  },
  {
    name: '10 words of somebody',
    about: 'as many words of one profile as a query can have',
    make: (context) => ({ query: wordsOfSomebody(context), limit: usualLimit }),
  },
  {
    name: '10 common words',
    about: 'as many frequent words as a query can have: nobody has all',
    make: (context) => ({
      query: fitting(someOf(context.world.vocabulary.slice(0, 60), maxTerms, context)),
      limit: usualLimit,
    }),
  },
  {
    name: '10 beginnings',
    about: 'as many heavy beginnings as a query can have',
    make: (context) => ({ query: fitting(someOf(heavyBeginnings, maxTerms, context)), limit: usualLimit }),
  },
  {
    name: '10 middling beginnings',
    about:
      'as many beginnings of four or five letters: too many terms to be few, too few for lists of their own',
    make: (context) => ({
      query: fitting(
        someOf(context.world.vocabulary.slice(0, 4000), maxTerms, context).map((word) =>
          beginning(word, 4 + context.draws.below(2)),
        ),
      ),
      limit: usualLimit,
    }),
  },
  {
    name: '10 beginnings of 3 digits',
    about: 'as many beginnings of numbers in handles, each of many terms in one profile each',
    make: ({ draws }) => ({
      query: Array.from({ length: maxTerms }, (_, place) => 100 + ((draws.below(900) + place) % 900)).join(
        ' ',
      ),
      limit: usualLimit,
    }),
  },
  {
    name: 'beginnings never together',
    about: 'the first letters of two words that no profile has both of',
    make: (context) => ({
      query: someOf(neverTogether, 2, context)
        .map((word) => word.slice(0, 4 + context.draws.below(3)))
        .join(' '),
      country: largeCountry(context).code,
      limit: usualLimit,
    }),
  },
];

/** From few to many results, so that queries of a small set of words differ. */
const anyOdd = ({ draws }: QueryContext): number => 1 + 2 * draws.below(50);

const wordsOfSomebody = (context: QueryContext): string => {
  let profile = anyProfile(context);
  for (let tries = 0; tries < 50 && (profile.bio?.length ?? 0) < 120; tries += 1)
    profile = anyProfile(context);
  return fitting([...leadTerms(profile)].slice(0, maxTerms));
};

/** As many of `words` as a query's length allows. */
const fitting = (words: readonly string[]): string => {
  let query = '';
  for (const word of words) {
    const longer = query === '' ? word : `${query} ${word}`;
    if (longer.length <= longestQuery) query = longer;
  }
  return query;
};
