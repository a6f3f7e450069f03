import type { QueryField } from './query-template.ts';
import type { LeadQuery } from '../lead-source.ts';

export interface RowsToAskOptions {
  /** The fields of the search that its request carries. */
  sent: ReadonlySet<QueryField>;
  /** How many are asked for, at least, where a filter is left to us. */
  filteredRows: number;
}

/**
 * How many rows an upstream is asked for: the search's limit, or more where it is not told of a filter or the words, as
 * most of its rows do not pass then.
 */
export const rowsToAsk = (query: LeadQuery, { sent, filteredRows }: RowsToAskOptions): number =>
  filterNames(query).every((name) => sent.has(name)) ? query.limit : Math.max(query.limit, filteredRows);

const filterNames = (query: LeadQuery): QueryField[] => {
  const values = {
    query: query.query,
    country: query.country,
    category: query.category,
    gender: query.gender,
    min_followers: query.minFollowers,
    max_followers: query.maxFollowers,
  } satisfies Partial<Record<QueryField, unknown>>;
  const names = Object.keys(values) as (keyof typeof values)[];
  return names.filter((name) => values[name] !== undefined);
};
