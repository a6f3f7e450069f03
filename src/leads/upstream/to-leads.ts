import type { LeadDefaults } from '../lead-fields.ts';
import { checkLead } from '../query/check-lead.ts';
import { compareLeads, passesFilters } from '../query/lead-filters.ts';
import type { Lead, LeadQuery } from '../lead-source.ts';
import { leadTerms } from '../query/lead-terms.ts';
import { meetsTerms, queryTerms } from '../query/search-terms.ts';
import { usernameKey } from '../query/fold-text.ts';
import { createYieldToLoop } from '../yield-to-loop.ts';

/** The filters on optional fields. A profile without the field never passes. */
export const filterFields = ['country', 'category', 'gender'] as const;
export type FilterField = (typeof filterFields)[number];

export const filtersOf = (query: LeadQuery): FilterField[] =>
  filterFields.filter((field) => query[field] !== undefined);

export interface ToLeadsOptions {
  query: LeadQuery;
  /** Reads the fields of a row under the contract's names. */
  read: (row: unknown) => Record<string, unknown>;
  words: 'upstream' | 'check';
  /** Values for rows that lack a required field. */
  defaults?: LeadDefaults;
}

export interface FoundLeads {
  /** The answer of the search: checked, filtered, each person once, in order, at most the query's limit. */
  leads: Lead[];
  /** Rows that are profiles, matching or not. */
  profiles: number;
  refused: number;
  /** The problem of the first refused row, without its values. */
  firstProblem: string | null;
  /** The fields of filters that no profile has. No profile passes a filter on one of them. */
  missingFields: FilterField[];
}

/** The longest time, about, before other work gets the event loop. */
const turnMs = 4;

/**
 * Makes the answer of a search from the rows of an upstream. The rows are only data: the query's filters are applied
 * again, and the order is ours. The words of the query are checked only if `words` says so, because the upstream may know
 * more about a profile than it returns.
 */
export const toLeads = async (
  rows: readonly unknown[],
  { query, read, words, defaults }: ToLeadsOptions,
): Promise<FoundLeads> => {
  const terms = words === 'check' && query.query !== undefined ? queryTerms(query.query) : null;
  const found: Lead[] = [];
  /** Only the first row of a person counts. */
  const seen = new Set<string>();
  const missing = new Set(filterFields);
  const yieldToLoop = createYieldToLoop(undefined, turnMs);
  let refused = 0;
  let firstProblem: string | null = null;
  for (const row of rows) {
    await yieldToLoop();
    const checked = checkLead(read(row), defaults);
    if ('problem' in checked) {
      refused += 1;
      firstProblem ??=
        checked.lacks === undefined
          ? omitValue(checked.problem)
          : `${checked.lacks} is missing; map it by fields, or name it in defaults`;
      continue;
    }
    // Nobody knows whether they pass the filter.
    if (checked.unknownCountry !== undefined && query.country !== undefined) {
      refused += 1;
      firstProblem ??= 'country is neither a code nor a known name';
      continue;
    }
    const { lead } = checked;
    for (const field of missing) if (lead[field] !== undefined) missing.delete(field);
    const key = usernameKey(lead.username);
    if (seen.has(key)) continue;
    seen.add(key);
    if (!passesFilters(lead, query)) continue;
    if (terms === null || meetsTerms(leadTerms(lead), terms)) found.push(lead);
  }
  const leads = found.sort(compareLeads).slice(0, query.limit);
  const profiles = rows.length - refused;
  return { leads, profiles, refused, firstProblem, missingFields: [...missing] };
};

/** Removes the value from a problem, which names a field, its value and the rule. Personal data must not be logged. */
const omitValue = (problem: string): string => {
  const [field = ''] = problem.split(' ', 1);
  const rule = problem.lastIndexOf(' must be ');
  return rule < 0 ? field : `${field}${problem.slice(rule)}`;
};
