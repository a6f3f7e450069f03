import type { Lead, LeadQuery } from '../../../src/leads/lead-source.ts';
import type { Country, World } from '../world/create-world.ts';
import type { Draws } from '../world/draws.ts';

/** A kind of search whose times are told together. */
export interface QueryClass {
  name: string;
  /** What it asks for, and where it hurts. */
  about: string;
  /** One such search; calls differ by their draws. */
  make(context: QueryContext): LeadQuery;
}

/** What searches are made from: the world of the profiles, and the profiles themselves. */
export interface QueryContext {
  world: World;
  /** How many profiles are searched. */
  profiles: number;
  profileAt(index: number): Lead;
  draws: Draws;
}

/** What the contract answers when no limit is asked for. */
export const usualLimit = 20;
export const largestLimit = 100;

export const anyOf = (list: readonly string[], { draws }: QueryContext): string =>
  list[draws.below(list.length)] ?? '';

/** `count` different members of `list`, which has at least so many. */
export const someOf = (list: readonly string[], count: number, context: QueryContext): string[] => {
  const chosen = new Set<string>();
  while (chosen.size < Math.min(count, list.length)) chosen.add(anyOf(list, context));
  return [...chosen];
};

/** A word of the bios by its place among the most frequent ones, from `from` to `to` - 1. */
export const wordOfRank = (from: number, to: number, { world, draws }: QueryContext): string =>
  world.vocabulary[from + draws.below(to - from)] ?? '';

/** In at least one profile in some hundreds. */
export const commonWord = (context: QueryContext): string => wordOfRank(0, 40, context);
/** In some dozens of a million profiles. */
export const rareWord = (context: QueryContext): string =>
  wordOfRank(60_000, context.world.vocabulary.length, context);

/** One of the countries with most profiles; `from` passes over the first ones. */
export const largeCountry = ({ world, draws }: QueryContext, from = 0): Country =>
  countryAt(world, from + draws.below(8));
/** One of the countries with fewest profiles. */
export const smallCountry = ({ world, draws }: QueryContext): Country =>
  countryAt(world, world.countries.length - 1 - draws.below(8));

const countryAt = (world: World, place: number): Country =>
  world.countries[place] ?? { code: 'US', cities: [], words: [], script: undefined };

export const anyCategory = ({ world, draws }: QueryContext): string =>
  world.categories[draws.below(world.categories.length)]?.name ?? '';

export const anyGender = ({ draws }: QueryContext): 'male' | 'female' =>
  draws.chance(0.5) ? 'male' : 'female';

export const anyLimit = ({ draws }: QueryContext): number => 1 + draws.below(largestLimit);

export const anyProfile = ({ profileAt, profiles, draws }: QueryContext): Lead =>
  profileAt(draws.below(profiles));

/** The first `length` characters of `word`. */
export const beginning = (word: string, length: number): string => Array.from(word).slice(0, length).join('');
