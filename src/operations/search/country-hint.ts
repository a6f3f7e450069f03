import { foldText } from '../../leads/query/fold-text.ts';
import { countryKey } from '../../leads/query/lead-filters.ts';
import { countryNames } from './country-names.ts';

/** Codes of countries that are, UK for GB among them; not of languages, unions or nothing, by which nobody is found. */
export const isCountryCode = (code: string): boolean => codes.has(countryKey(code) ?? '');

const codes: ReadonlySet<string> = new Set(countryNames.map(([code]) => code));

/** By name, letters only; made when first asked for. */
let codesByName: ReadonlyMap<string, string> | null = null;

/** The 2-letter ISO code of a country named in English, for the text of a refusal; null for what is no such name. */
export const countryHint = (name: string): string | null => {
  codesByName ??= new Map(countryNames.map(([code, name]) => [toKey(name), code]));
  return codesByName.get(toKey(name)) ?? null;
};

const toKey = (name: string): string => foldText(name.replaceAll('&', ' and ')).replace(/[^a-z]+/g, '');
