import { categoryKey, countryKey } from './lead-filters.ts';
import type { Lead, LeadQuery } from '../lead-source.ts';
import { leadTerms } from './lead-terms.ts';
import { queryTerms, type QueryTerm } from './search-terms.ts';

/*
 * Filters are terms in the same dictionary as words, so a search only intersects lists and reads no profile to check a
 * filter. Each begins with a control character. No word contains one, so no filter equals or begins a word.
 */
const country = '\u0001';
const category = '\u0002';
const gender = '\u0003';

/** Returns all distinct terms under which a profile is found. */
export const indexTerms = (lead: Lead): Set<string> => {
  const terms = leadTerms(lead);
  const key = lead.country === undefined ? null : countryKey(lead.country);
  if (key !== null) terms.add(country + key);
  if (lead.category !== undefined) terms.add(category + categoryKey(lead.category));
  if (lead.gender !== undefined) terms.add(gender + lead.gender);
  return terms;
};

/** Returns the terms that `query` requires, without its range of followers; null if nothing can match. */
export const queryConditions = (query: LeadQuery): QueryTerm[] | null => {
  const conditions = query.query === undefined ? [] : queryTerms(query.query);
  if (query.query !== undefined && conditions.length === 0) return null;
  if (query.country !== undefined) {
    const key = countryKey(query.country);
    if (key === null) return null;
    conditions.push(whole(country + key));
  }
  if (query.category !== undefined) conditions.push(whole(category + categoryKey(query.category)));
  if (query.gender !== undefined) conditions.push(whole(gender + query.gender));
  return conditions;
};

/** Countries and categories are counted. In the order of terms they come first, and then this one. */
export const firstUncounted = gender;

/** Reads a term before `firstUncounted`. */
export const readCounted = (term: string): { filter: 'country' | 'category'; value: string } => ({
  filter: term.startsWith(country) ? 'country' : 'category',
  value: term.slice(1),
});

/** Returns true for a filter term. Prefixes of filters are never searched. */
export const isFilterTerm = (term: string): boolean => term.charCodeAt(0) < 0x20;

const whole = (text: string): QueryTerm => ({ text, isPrefix: false });
