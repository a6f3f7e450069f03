import { foldText } from '../../leads/query/fold-text.ts';
import { countryKey } from '../../leads/query/lead-filters.ts';
import { countryNames } from './country-names.ts';

/** Tells a code of a country, or UK, from those of languages and unions and from nonsense, by which nobody is found. */
export const isCountryCode = (code: string): boolean => {
  codes ??= new Set(countryNames().map(([known]) => known));
  return codes.has(countryKey(code) ?? '');
};

let codes: ReadonlySet<string> | null = null;

/** Codes by name, letters only. */
let codesByName: ReadonlyMap<string, string> | null = null;

/** Returns the 2-letter ISO code of a country named in English, for the text of a refusal; null for another name. */
export const countryHint = (name: string): string | null => {
  codesByName ??= new Map(countryNames().map(([code, known]) => [toKey(known), code]));
  return codesByName.get(toKey(name)) ?? null;
};

const toKey = (name: string): string => foldText(name.replaceAll('&', ' and ')).replace(/[^a-z]+/g, '');
