import type { Facet, LeadFacets } from '../lead-source.ts';
import type { Generation } from './open-generation.ts';

/** Fewer profiles might single somebody out. */
const leastShown = 10;
const maxCategories = 100;

/**
 * Counts the profiles of each country and category, from the lengths of the lists. They include gone and erased rows, so
 * each length is reduced by the segment's share of gone rows. Two digits are told, rounded down: the count before and
 * after a change does not tell about one person.
 */
export const countFacets = ({ base, delta }: Pick<Generation, 'base' | 'delta'>): LeadFacets => {
  const counts = { country: new Map<string, number>(), category: new Map<string, number>() };
  for (const part of [base, delta]) {
    if (part === null) continue;
    const { segment, gone } = part;
    const searched = 1 - (gone?.size ?? 0) / Math.max(1, segment.profiles);
    for (const { filter, value, profiles } of segment.countFilters()) {
      const counted = counts[filter];
      counted.set(value, (counted.get(value) ?? 0) + profiles * searched);
    }
  }
  return {
    countries: mostFrequent(counts.country),
    categories: mostFrequent(counts.category).slice(0, maxCategories),
  };
};

const mostFrequent = (counts: ReadonlyMap<string, number>): Facet[] =>
  [...counts]
    .filter(([, profiles]) => profiles >= leastShown)
    .map(([value, profiles]) => ({ value, profiles: roundDown(profiles) }))
    .sort((a, b) => b.profiles - a.profiles || (a.value < b.value ? -1 : 1));

const roundDown = (count: number): number => {
  const step = 10 ** Math.max(1, Math.floor(Math.log10(count)) - 1);
  return Math.floor(count / step) * step;
};
