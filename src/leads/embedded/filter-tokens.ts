import { countryKey } from '../lead-filters.ts';
import type { Lead } from '../lead-source.ts';

/*
 * Filters are tokens in the same inverted index as the terms, so that an engine intersects lists instead of
 * reading profiles. Each is one private-use character: no term contains one, so none equals or begins a filter
 * token, and a token of one character stays out of the indexes of word beginnings.
 */
const firstCountry = 0xf0000;
const genders = { male: '\u{F1000}', female: '\u{F1001}' };
const firstCategory = 0x100000;
const maxCategories = 65_534;

/** The token of a country; null when it is no two-letter code and so matches nothing. */
export const countryToken = (country: string): string | null => {
  const key = countryKey(country);
  if (key === null) return null;
  const place = (key.charCodeAt(0) - 65) * 26 + (key.charCodeAt(1) - 65);
  return String.fromCodePoint(firstCountry + place);
};

export const genderToken = (gender: NonNullable<Lead['gender']>): string => genders[gender];

/** The token of the category with this number, as the index's table of categories has it, from 0. */
export const categoryToken = (number: number): string => {
  if (number >= maxCategories) throw new RangeError(`There are more than ${maxCategories} categories.`);
  return String.fromCodePoint(firstCategory + number);
};
