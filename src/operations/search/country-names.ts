import { foldText } from '../../leads/query/fold-text.ts';
import { countryKey } from '../../leads/query/lead-filters.ts';

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

type CountryName = readonly [code: string, name: string];

/** Names and abbreviations in use beside those of Unicode's CLDR, those of other versions among them. */
const furtherNames: Readonly<Record<string, readonly string[]>> = {
  AE: ['UAE'],
  CI: ['Ivory Coast'],
  CV: ['Cabo Verde', 'Cape Verde'],
  CZ: ['Czech Republic', 'Czechia'],
  GB: ['Britain', 'England', 'GBR', 'Great Britain'],
  HK: ['Hong Kong'],
  KR: ['Korea'],
  MM: ['Burma', 'Myanmar'],
  MO: ['Macau'],
  NL: ['Holland'],
  PS: ['Palestine'],
  SZ: ['Eswatini', 'Swaziland'],
  TR: ['Türkiye', 'Turkey'],
  US: ['America', 'United States of America', 'USA'],
};

/** Codes that CLDR has names for, but of unions, groups and nothing. */
const codesOfNoCountry = new Set(['EU', 'EZ', 'QO', 'UN', 'XA', 'XB', 'ZZ']);

let made: readonly CountryName[] | null = null;

/**
 * Returns the codes of ISO 3166-1, and those reserved or in common use beside it (XK), each with the English names of its
 * country, further names last. The first call takes some 10 ms.
 */
export const countryNames = (): readonly CountryName[] =>
  (made ??= [
    ...namesOfCldr(),
    ...Object.entries(furtherNames).flatMap(([code, names]) =>
      names.map((name): CountryName => [code, name]),
    ),
  ]);

const namesOfCldr = (): CountryName[] => {
  const names = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'.split('');
  return letters
    .flatMap((first) => letters.map((second) => first + second))
    .filter((code) => !codesOfNoCountry.has(code) && isCurrent(code))
    .flatMap((code) => {
      const name = names.of(code);
      return name === undefined ? [] : [[code, name] as const];
    });
};

/** False for codes of former countries and for aliases, as UK is one of GB. */
const isCurrent = (code: string): boolean => Intl.getCanonicalLocales(`und-${code}`)[0] === `und-${code}`;
