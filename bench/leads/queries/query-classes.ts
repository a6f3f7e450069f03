import type { LeadQuery } from '../../../src/leads/lead-source.ts';
import type { Profiles } from '../generate-profiles.ts';
import { createDraws } from '../world/draws.ts';
import { filterClasses } from './filter-classes.ts';
import { hostileClasses } from './hostile-classes.ts';
import { prefixClasses } from './prefix-classes.ts';
import type { QueryClass } from './query-class.ts';
import { scriptClasses } from './script-classes.ts';
import { wordClasses } from './word-classes.ts';

/** The fixed set of classes, in the order in which results tell them. */
export const queryClasses: readonly QueryClass[] = [
  ...filterClasses,
  ...wordClasses,
  ...scriptClasses,
  ...prefixClasses,
  ...hostileClasses,
];

/** A class has fewer different queries than asked for when so many draws in a row, each, gave none that was new. */
const maxTriesPerQuery = 50;

export interface QueriesInput {
  queryClass: QueryClass;
  profiles: Profiles;
  /** How many profiles are searched. */
  profileCount: number;
  /** How many queries. */
  count: number;
}

/** Different queries of one class, decided by the profiles' seed, their number and the class's name. */
export const makeQueries = ({ queryClass, profiles, profileCount, count }: QueriesInput): LeadQuery[] => {
  const draws = createDraws(profiles.world.seed);
  draws.restart(nameNumber(queryClass.name));
  const context = { ...profiles, profiles: profileCount, draws };
  const made = new Map<string, LeadQuery>();
  for (let tries = 0; made.size < count && tries < count * maxTriesPerQuery; tries += 1) {
    const query = queryClass.make(context);
    made.set(JSON.stringify(query), query);
  }
  return [...made.values()];
};

const nameNumber = (name: string): number => {
  let number = 7;
  for (const character of name) number = (Math.imul(number, 31) + (character.codePointAt(0) ?? 0)) >>> 0;
  return number;
};
