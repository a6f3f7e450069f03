import { canonicalJson } from '../../kit/json.ts';
import type { LeadFieldPointers } from './upstream-settings.ts';
import type { LeadQuery } from '../lead-source.ts';
import { filterFields, filtersOf, type FilterField } from './filter-fields.ts';
import type { FoundLeads } from './to-leads.ts';

/** What is known of the filters that an upstream's profiles cannot pass, as they do not have the field. */
export interface BlindFilters {
  /** A filter of the query for which asking is of no use now; null when there is none. */
  refused(query: LeadQuery): FilterField | null;
  learn(query: LeadQuery, found: Pick<FoundLeads, 'profiles' | 'untoldFields'>): void;
}

export interface BlindFiltersOptions {
  fields: LeadFieldPointers;
  /** A clock that never goes back. */
  nowMs?: () => number;
}

/** Answers in a row without the field, after which the upstream is not asked for a while: each call may cost money. */
const mostMisses = 3;
const quietMs = 600_000;
/** Fewer profiles may be without a field by chance. */
const tellingProfiles = 10;
/** What had the field so lately is an upstream that tells it: profiles without it are only those of some searches. */
const seenMs = 3_600_000;

interface Misses {
  times: number;
  lastMs: number;
  /** What was searched for last: repeated, it tells nothing new of the upstream. */
  search: string;
}

export const createBlindFilters = ({
  fields,
  nowMs = () => performance.now(),
}: BlindFiltersOptions): BlindFilters => {
  const missed = new Map<FilterField, Misses>();
  const seenAtMs = new Map<FilterField, number>();

  const isQuiet = (field: FilterField): boolean => {
    const { times, lastMs } = missed.get(field) ?? { times: 0, lastMs: 0 };
    return times >= mostMisses && nowMs() < lastMs + quietMs;
  };
  const isNotTaken = (field: FilterField): boolean => fields[field]?.length === 0;
  const wasSeen = (field: FilterField): boolean => nowMs() < (seenAtMs.get(field) ?? -Infinity) + seenMs;

  return {
    refused: (query) => filtersOf(query).find((field) => isNotTaken(field) || isQuiet(field)) ?? null,
    learn: (query, { profiles, untoldFields }) => {
      if (profiles === 0) return;
      for (const field of filterFields) {
        if (untoldFields.includes(field)) continue;
        seenAtMs.set(field, nowMs());
        missed.delete(field);
      }
      if (profiles < tellingProfiles) return;
      const search = canonicalJson({ ...query, limit: 0 });
      for (const field of filtersOf(query)) {
        if (!untoldFields.includes(field) || wasSeen(field)) continue;
        const last = missed.get(field);
        if (last !== undefined && last.times < mostMisses && last.search === search) continue;
        missed.set(field, { times: (last?.times ?? 0) + 1, lastMs: nowMs(), search });
      }
    },
  };
};
