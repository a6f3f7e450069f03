import { leastUsualFollowers } from '../generate-profiles.ts';
import {
  anyCategory,
  anyGender,
  anyLimit,
  largeCountry,
  smallCountry,
  usualLimit,
  type QueryClass,
} from './query-class.ts';

/** Searches without words. */
export const filterClasses: readonly QueryClass[] = [
  {
    name: 'no filter',
    about: 'everybody, by every limit',
    make: (context) => ({ limit: anyLimit(context) }),
  },
  {
    name: 'country',
    about: 'one country, large or small, by every limit',
    make: (context) => ({
      country: (context.draws.chance(0.5) ? largeCountry(context) : smallCountry(context)).code,
      limit: anyLimit(context),
    }),
  },
  {
    name: 'filters, common together',
    about: 'large country, category and gender',
    make: (context) => ({
      country: largeCountry(context).code,
      category: anyCategory(context),
      gender: anyGender(context),
      limit: usualLimit,
    }),
  },
  {
    name: 'filters, rare together',
    about: 'small country, category, gender and few followers',
    make: (context) => ({
      country: smallCountry(context).code,
      category: anyCategory(context),
      gender: anyGender(context),
      maxFollowers: 300 + context.draws.below(3000),
      limit: usualLimit,
    }),
  },
  {
    name: 'filters, nobody',
    about: 'a country or category that no profile has, and one that many have',
    make: (context) =>
      context.draws.chance(0.5)
        ? { country: 'AQ', gender: anyGender(context), limit: anyLimit(context) }
        : { country: largeCountry(context).code, category: 'Lighthouse', limit: anyLimit(context) },
  },
  {
    name: 'range',
    about: 'between two follower counts anywhere',
    make: ({ draws }) => {
      const minFollowers = Math.floor(5_000_000 ** draws.fraction());
      return { minFollowers, maxFollowers: minFollowers * (2 + draws.below(9)), limit: usualLimit };
    },
  },
  {
    name: 'narrow range, crowded',
    about: 'few follower counts that thousands of profiles share, with country and gender',
    make: (context) => ({
      ...crowdedRange(context.draws.below(100)),
      country: largeCountry(context).code,
      gender: anyGender(context),
      limit: usualLimit,
    }),
  },
];

/** Three neighbouring follower counts where profiles stand closest. */
export const crowdedRange = (offset: number): { minFollowers: number; maxFollowers: number } => ({
  minFollowers: leastUsualFollowers + offset,
  maxFollowers: leastUsualFollowers + offset + 2,
});
