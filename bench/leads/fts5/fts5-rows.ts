import type { Lead, LeadQuery } from '../../../src/leads/lead-source.ts';
import { leadFields } from '../../../src/leads/lead-fields.ts';

const mostFollowers = 2 ** 31 - 1;
/** How many profiles may share one follower count. */
const ranks = 2 ** 21;

/** Rows in ascending order are profiles in the order of results; `rank` counts those of equal followers, from 0. */
export const rowidOf = (followers: number, rank: number): number => {
  if (rank >= ranks) throw new RangeError(`More than ${ranks} profiles have ${followers} followers.`);
  return (mostFollowers - followers) * ranks + rank;
};

/** The first and last row that a query's range can have; the first is behind the last when it is empty. */
export const rowRange = ({ minFollowers = 0, maxFollowers = mostFollowers }: LeadQuery): [number, number] => [
  rowidOf(Math.min(mostFollowers, maxFollowers), 0),
  rowidOf(Math.min(mostFollowers, minFollowers), ranks - 1),
];

/** A profile as a JSON array of its fields' values, null where one is absent. */
export const packProfile = (lead: Lead): string =>
  JSON.stringify(leadFields.map((field) => lead[field] ?? null));

export const unpackProfile = (packed: string): Lead => {
  const values = JSON.parse(packed) as unknown[];
  const present = leadFields.map((field, place) => [field, values[place]] as const);
  return Object.fromEntries(present.filter(([, value]) => value !== null)) as unknown as Lead;
};
