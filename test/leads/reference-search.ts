import { compareLeads, passesFilters } from '../../src/leads/query/lead-filters.ts';
import type { Lead, LeadQuery } from '../../src/leads/lead-source.ts';
import { leadTerms } from '../../src/leads/query/lead-terms.ts';
import { meetsTerms, queryTerms } from '../../src/leads/query/search-terms.ts';

/** Searches `leads` by a plain scan. Tests compare every engine with it. */
export const createReferenceSearch = (leads: readonly Lead[]): ((query: LeadQuery) => Lead[]) => {
  const profiles = leads.toSorted(compareLeads).map((lead) => ({ lead, terms: leadTerms(lead) }));
  return (query) => {
    const conditions = query.query === undefined ? null : queryTerms(query.query);
    return profiles
      .filter(
        ({ lead, terms }) =>
          passesFilters(lead, query) && (conditions === null || meetsTerms(terms, conditions)),
      )
      .slice(0, query.limit)
      .map(({ lead }) => lead);
  };
};
