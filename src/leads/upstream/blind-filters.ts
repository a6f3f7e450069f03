import type { LeadFieldPointers } from '../../leads-config.ts';
import type { LeadQuery } from '../lead-source.ts';
import { filtersOf, type FilterField } from './filter-fields.ts';
import type { FoundLeads } from './to-leads.ts';

/** What is known of the filters that an upstream's profiles cannot pass, as they do not have the field. */
export interface BlindFilters {
  /** A filter of the query for which asking is of no use now; null when there is none. */
  refused(query: LeadQuery): FilterField | null;
  learn(query: LeadQuery, found: Pick<FoundLeads, 'profiles' | 'blindFilters'>): void;
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

export const createBlindFilters = ({
  fields,
  nowMs = () => performance.now(),
}: BlindFiltersOptions): BlindFilters => {
  const missed = new Map<FilterField, { times: number; lastMs: number }>();

  const isQuiet = (field: FilterField): boolean => {
    const { times, lastMs } = missed.get(field) ?? { times: 0, lastMs: 0 };
    return times >= mostMisses && nowMs() < lastMs + quietMs;
  };
  const isNotTaken = (field: FilterField): boolean => fields[field]?.length === 0;

  return {
    refused: (query) => filtersOf(query).find((field) => isNotTaken(field) || isQuiet(field)) ?? null,
    learn: (query, { profiles, blindFilters }) => {
      if (profiles === 0) return;
      for (const field of filtersOf(query)) {
        if (!blindFilters.includes(field)) missed.delete(field);
        else if (profiles >= tellingProfiles)
          missed.set(field, { times: (missed.get(field)?.times ?? 0) + 1, lastMs: nowMs() });
      }
    },
  };
};
