import { categoryKey, countryKey } from '../../../src/leads/query/lead-filters.ts';
import type { Lead, LeadQuery } from '../../../src/leads/lead-source.ts';
import { leadTerms } from '../../../src/leads/query/lead-terms.ts';
import { queryTerms } from '../../../src/leads/query/search-terms.ts';

/*
 * Filters are tokens in the same inverted index as the terms. Each begins with a private-use character, which no
 * term contains, so that no beginning of a word finds one.
 */
const mark = { country: '\u{F0000}', category: '\u{F0001}', gender: '\u{F0002}', band: '\u{F0003}' };

/** Ranges over more bands than this are left to the rows' order alone. */
const mostBandsInQuery = 8;

/** One band of follower counts for each power of two. */
const bandOf = (followers: number): number => Math.floor(Math.log2(followers + 1));

const token = (kind: keyof typeof mark, value: string | number): string =>
  `${mark[kind]}${Buffer.from(String(value)).toString('hex')}`;

/** Everything a profile is found under, divided by spaces. */
export const profileTokens = (lead: Lead): string => {
  const tokens = [...leadTerms(lead), token('band', bandOf(lead.followers))];
  const country = lead.country === undefined ? null : countryKey(lead.country);
  if (country !== null) tokens.push(token('country', country));
  if (lead.category !== undefined) tokens.push(token('category', categoryKey(lead.category)));
  if (lead.gender !== undefined) tokens.push(token('gender', lead.gender));
  return tokens.join(' ');
};

/** A query's conditions in the syntax of MATCH: null when nothing can match, '' when there are none. */
export const matchExpression = (query: LeadQuery): string | null => {
  const conditions: string[] = [];
  if (query.query !== undefined) {
    const terms = queryTerms(query.query);
    if (terms.length === 0) return null;
    conditions.push(...terms.map(({ text, isPrefix }) => `"${text}"${isPrefix ? ' *' : ''}`));
  }
  if (query.country !== undefined) {
    const country = countryKey(query.country);
    if (country === null) return null;
    conditions.push(`"${token('country', country)}"`);
  }
  if (query.category !== undefined) conditions.push(`"${token('category', categoryKey(query.category))}"`);
  if (query.gender !== undefined) conditions.push(`"${token('gender', query.gender)}"`);
  const bands = bandsOf(query);
  if (conditions.length > 0 && bands.length > 0)
    conditions.push(`(${bands.map((band) => `"${token('band', band)}"`).join(' OR ')})`);
  return conditions.join(' AND ');
};

const bandsOf = ({ minFollowers = 0, maxFollowers = 2 ** 31 - 1 }: LeadQuery): number[] => {
  const first = bandOf(minFollowers);
  const count = bandOf(maxFollowers) - first + 1;
  return count > mostBandsInQuery || count < 1
    ? []
    : Array.from({ length: count }, (_, place) => first + place);
};
