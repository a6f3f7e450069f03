import type { LeadFacets } from './lead-source.ts';

/** Fewer profiles might single somebody out. */
const leastShown = 10;
const maxCategories = 100;

/**
 * Makes the facets of a set of profiles from its counts. Two digits are told, rounded down: the count before and after a
 * change does not tell about one person.
 */
export const toFacets = (
  counts: Record<'country' | 'category', ReadonlyMap<string, number>>,
): LeadFacets => ({
  countries: mostFrequent(counts.country),
  categories: mostFrequent(counts.category).slice(0, maxCategories),
});

const mostFrequent = (counts: ReadonlyMap<string, number>): LeadFacets['countries'] =>
  [...counts]
    .filter(([, profiles]) => profiles >= leastShown)
    .map(([value, profiles]) => ({ value, profiles: roundDown(profiles) }))
    .sort((a, b) => b.profiles - a.profiles || (a.value < b.value ? -1 : 1));

const roundDown = (count: number): number => {
  const step = 10 ** Math.max(1, Math.floor(Math.log10(count)) - 1);
  return Math.floor(count / step) * step;
};
