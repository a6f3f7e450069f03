import { canonicalJson } from '../../kit/json.ts';
import type { AnswerRules } from './http-source.ts';
import type { LeadQuery } from '../lead-source.ts';
import { filterFields, filtersOf, type FilterField, type FoundLeads } from './to-leads.ts';

/** After so many answers in a row without the field, the upstream is not asked for a while: each call may cost money. */
const maxMisses = 3;
const quietMs = 600_000;
/** Fewer profiles may lack a field by chance. */
const minProfiles = 10;
/** The upstream has recently returned this field, so its absence in some answers is not a gap of the upstream. */
const seenMs = 3_600_000;

interface Misses {
  times: number;
  lastMs: number;
  /** The last search. A repetition of it says nothing new about the upstream. */
  search: string;
}

/**
 * Remembers the filters that an upstream's profiles cannot pass, because they lack the field. `nowMs` is a clock that
 * never goes back.
 */
export const createUnsupportedFilters = (
  { fields }: Pick<AnswerRules, 'fields'>,
  nowMs = () => performance.now(),
) => {
  const missed = new Map<FilterField, Misses>();
  const seenAtMs = new Map<FilterField, number>();

  const isQuiet = (field: FilterField): boolean => {
    const { times, lastMs } = missed.get(field) ?? { times: 0, lastMs: 0 };
    return times >= maxMisses && nowMs() < lastMs + quietMs;
  };

  return {
    /** Returns a filter of the query that makes asking useless now; null when there is none. */
    refused: (query: LeadQuery): FilterField | null =>
      filtersOf(query).find((field) => fields[field]?.length === 0 || isQuiet(field)) ?? null,
    learn: (
      query: LeadQuery,
      { profiles, missingFields }: Pick<FoundLeads, 'profiles' | 'missingFields'>,
    ): void => {
      if (profiles === 0) return;
      for (const field of filterFields) {
        if (missingFields.includes(field)) continue;
        seenAtMs.set(field, nowMs());
        missed.delete(field);
      }
      if (profiles < minProfiles) return;
      const search = canonicalJson({ ...query, limit: 0 });
      for (const field of filtersOf(query)) {
        const wasSeen = nowMs() < (seenAtMs.get(field) ?? -Infinity) + seenMs;
        if (!missingFields.includes(field) || wasSeen) continue;
        const last = missed.get(field);
        if (last !== undefined && last.times < maxMisses && last.search === search) continue;
        missed.set(field, { times: (last?.times ?? 0) + 1, lastMs: nowMs(), search });
      }
    },
  };
};
