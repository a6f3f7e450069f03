import { categoryKey, countryKey } from './lead-filters.ts';
import type { Lead, LeadQuery } from '../lead-source.ts';
import { leadTerms } from './lead-terms.ts';
import { queryTerms, type QueryTerm } from './search-terms.ts';

/*
 * Filters are terms in the same index as words, so a search only intersects lists and reads no profile to check a
 * filter. Each begins with a private-use character. No word contains one, so no filter equals or begins a word. Values
 * are in hexadecimal, because the index divides terms at spaces and punctuation.
 */
const marks = { country: '\u{F0000}', category: '\u{F0001}', gender: '\u{F0002}' };

type Filter = keyof typeof marks;

const filterTerm = (filter: Filter, value: string): string =>
  `${marks[filter]}${Buffer.from(value).toString('hex')}`;

/** The range of the terms of a filter, `from` included, and their values. */
export const filterTerms = (filter: Filter) => ({
  from: marks[filter],
  to: `${marks[filter]}g`,
  valueOf: (term: string): string => Buffer.from(term.slice(marks[filter].length), 'hex').toString(),
});

/** Returns all distinct terms under which a profile is found. */
export const indexTerms = (lead: Lead): Set<string> => {
  const terms = leadTerms(lead);
  const country = lead.country === undefined ? null : countryKey(lead.country);
  if (country !== null) terms.add(filterTerm('country', country));
  if (lead.category !== undefined) terms.add(filterTerm('category', categoryKey(lead.category)));
  if (lead.gender !== undefined) terms.add(filterTerm('gender', lead.gender));
  return terms;
};

/** Returns the terms that `query` requires, without its range of followers; null if nothing can match. */
export const queryConditions = (query: LeadQuery): QueryTerm[] | null => {
  const conditions = query.query === undefined ? [] : queryTerms(query.query);
  if (query.query !== undefined && conditions.length === 0) return null;
  if (query.country !== undefined) {
    const country = countryKey(query.country);
    if (country === null) return null;
    conditions.push(whole(filterTerm('country', country)));
  }
  if (query.category !== undefined)
    conditions.push(whole(filterTerm('category', categoryKey(query.category))));
  if (query.gender !== undefined) conditions.push(whole(filterTerm('gender', query.gender)));
  return conditions;
};

const whole = (text: string): QueryTerm => ({ text, isPrefix: false });
