import { isAscii } from './fold-text.ts';
import type { Lead, LeadQuery } from '../lead-source.ts';

/**
 * Returns the form in which countries are compared: two upper-case ASCII letters, with GB for UK; null if `country` is
 * not a code of two letters.
 */
export const countryKey = (country: string): string | null => {
  if (!/^[A-Za-z]{2}$/.test(country)) return null;
  const code = country.toUpperCase();
  return code === 'UK' ? 'GB' : code;
};

/**
 * Returns the form in which categories are compared: the whole name, lower-case and composed. Accents count. The capital ẞ
 * is no upper case of ß, which has SS.
 */
export const categoryKey = (category: string): string =>
  isAscii(category)
    ? category.toLowerCase()
    : category.normalize('NFC').toLowerCase().toUpperCase().toLowerCase().normalize('NFC');

/**
 * Returns true if a category is too long for an index: its key has more than 1,000 bytes, as some letters have several
 * times more when they are composed. PostgreSQL's terms have at most 2,046, and the key is in hexadecimal there.
 */
export const isLongCategory = (category: string): boolean => Buffer.byteLength(categoryKey(category)) > 1000;

/** Returns true if `lead` passes every filter of `query`. A missing field passes no filter on it. */
export const passesFilters = (lead: Lead, query: LeadQuery): boolean =>
  (query.country === undefined || sameCountry(lead.country, query.country)) &&
  (query.category === undefined ||
    (lead.category !== undefined && categoryKey(lead.category) === categoryKey(query.category))) &&
  (query.gender === undefined || lead.gender === query.gender) &&
  lead.followers >= (query.minFollowers ?? 0) &&
  lead.followers <= (query.maxFollowers ?? Infinity) &&
  (query.after === undefined || compareLeads(lead, query.after) > 0);

const sameCountry = (country: string | undefined, wanted: string): boolean => {
  const key = countryKey(wanted);
  return key !== null && country !== undefined && countryKey(country) === key;
};

type RankedLead = Pick<Lead, 'followers' | 'username'>;

/**
 * Compares by result order: followers descending, then username ascending by code points. That is the order of UTF-8
 * bytes, SQLite's BINARY and PostgreSQL's "C", but not of UTF-16 units.
 */
export const compareLeads = (a: RankedLead, b: RankedLead): number =>
  b.followers - a.followers || Buffer.compare(Buffer.from(a.username), Buffer.from(b.username));
