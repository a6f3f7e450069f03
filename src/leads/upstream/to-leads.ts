import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LeadDefaults } from '../lead-fields.ts';
import { checkLead } from '../query/check-lead.ts';
import { passesFilters } from '../query/lead-filters.ts';
import { compareLeads } from '../query/lead-order.ts';
import type { Lead, LeadQuery } from '../lead-source.ts';
import { leadTerms } from '../query/lead-terms.ts';
import { meetsTerms, queryTerms } from '../query/search-terms.ts';
import { usernameKey } from '../query/username-key.ts';
import { filterFields, type FilterField } from './filter-fields.ts';

export interface ToLeadsOptions {
  query: LeadQuery;
  /** The fields of a row under the contract's names. */
  read: (row: unknown) => Record<string, unknown>;
  words: 'upstream' | 'check';
  /** For rows that lack a required field. */
  defaults?: LeadDefaults;
}

export interface FoundLeads {
  /** What a search answers: checked, filtered, each person once, in order, at most the query's limit. */
  leads: Lead[];
  /** Rows that are profiles, whether they match or not. */
  profiles: number;
  /** Rows that are no profile. */
  refused: number;
  /** What is wrong with the first of them, without anything that stands in it. */
  firstProblem: string | null;
  /** The fields for filters that no profile has: a filter on one lets nothing pass. */
  untoldFields: FilterField[];
}

/** How long others wait for their turn, at most and about. */
const turnMs = 4;

/**
 * What a search answers from the rows of an upstream, which are taken for data alone: whatever it filtered and in
 * whatever order it answers, the query's filters hold and the order is ours. Whether it found the words of the
 * query is left to it unless `words` says otherwise, as it may know more of a profile than it gives.
 */
export const toLeads = async (
  rows: readonly unknown[],
  { query, read, words, defaults }: ToLeadsOptions,
): Promise<FoundLeads> => {
  const terms = words === 'check' && query.query !== undefined ? queryTerms(query.query) : null;
  const found: Lead[] = [];
  /** The first row of a person stands for them. */
  const seen = new Set<string>();
  const untold = new Set(filterFields);
  let refused = 0;
  let firstProblem: string | null = null;
  let turnStartMs = performance.now();
  for (const row of rows) {
    if (performance.now() - turnStartMs > turnMs) {
      await nextTurn();
      turnStartMs = performance.now();
    }
    const checked = checkLead(read(row), defaults);
    if ('problem' in checked) {
      refused += 1;
      firstProblem ??=
        checked.lacks === undefined
          ? withoutValue(checked.problem)
          : `${checked.lacks} is missing; map it by fields, or name it in defaults`;
      continue;
    }
    const { lead } = checked;
    for (const field of untold) if (lead[field] !== undefined) untold.delete(field);
    const key = usernameKey(lead.username);
    if (seen.has(key)) continue;
    seen.add(key);
    if (!passesFilters(lead, query)) continue;
    if (terms === null || meetsTerms(leadTerms(lead), terms)) found.push(lead);
  }
  const leads = found.sort(compareLeads).slice(0, query.limit);
  const profiles = rows.length - refused;
  return { leads, profiles, refused, firstProblem, untoldFields: [...untold] };
};

/** A problem names a field, its value, and what would be right; the value is somebody's, and no business of a log. */
const withoutValue = (problem: string): string => {
  const [field = ''] = problem.split(' ', 1);
  const right = problem.lastIndexOf(' must be ');
  return right < 0 ? field : `${field}${problem.slice(right)}`;
};
