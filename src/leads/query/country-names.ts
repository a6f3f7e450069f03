import { foldText } from './fold-text.ts';
import { countryKey } from './lead-filters.ts';

/** Tells a code of a country, or UK, from those of languages and unions and from nonsense, by which nobody is found. */
export const isCountryCode = (code: string): boolean => {
  const key = countryKey(code);
  return countryNames().some(([known]) => known === key);
};

/** Common languages. The first one in which a name is known decides. */
const languages = 'en es pt fr de it nl pl tr id ru ar hi ja ko zh zh-Hant'.split(' ');

/** For each language, codes by the letters of their names. */
const codesByName = new Map<string, ReadonlyMap<string, string>>();

/**
 * Returns the 2-letter ISO code of a country by its name in a common language; null for another name. The first call for
 * a language takes some 5 ms.
 */
export const countryNamed = (name: string): string | null => {
  const key = toKey(name);
  for (const language of languages) {
    const code = codesIn(language).get(key);
    if (code !== undefined) return code;
  }
  return null;
};

const codesIn = (language: string): ReadonlyMap<string, string> => {
  const known = codesByName.get(language);
  if (known !== undefined) return known;
  const names = language === 'en' ? countryNames() : namesOfCldr(language);
  const made = new Map(names.map(([code, name]) => [toKey(name), code]));
  codesByName.set(language, made);
  return made;
};

const toKey = (name: string): string =>
  foldText(name.replace(/^the\s/i, '').replaceAll('&', ' and ')).replace(/[^\p{L}\p{M}]+/gu, '');

type CountryName = readonly [code: string, name: string];

/** Names and abbreviations in use beside those of Unicode's CLDR, those of other versions among them, each behind its code. */
const furtherNames = `
AE UAE / BN Brunei Darussalam / BO Bolivia, Plurinational State of / CD Congo, Democratic Republic of the
CD Democratic Republic of the Congo / CD DR Congo / CI Ivory Coast / CV Cabo Verde / CV Cape Verde
CZ Czech Republic / CZ Czechia / FM Micronesia, Federated States of / GB Britain / GB England / GB GBR
GB Great Britain / GB U.K. / HK Hong Kong / IR Iran, Islamic Republic of
KP Korea, Democratic People's Republic of / KR Korea / KR Korea, Republic of / KR Republic of Korea
LA Lao People's Democratic Republic / MD Moldova, Republic of / MK Macedonia / MM Burma / MM Myanmar
MO Macau / NL Holland / PS Palestine / PS Palestine, State of / RU Russian Federation
SY Syrian Arab Republic / SZ Eswatini / SZ Swaziland / TR Türkiye / TR Turkey / TW Taiwan, Province of China
TZ Tanzania, United Republic of / US America / US EE. UU. / US EUA / US U.S. / US United States of America
US USA / VE Venezuela, Bolivarian Republic of`;

/** Codes that CLDR has names for, but of unions, groups and nothing. */
const codesOfNoCountry = new Set(['EU', 'EZ', 'QO', 'UN', 'XA', 'XB', 'ZZ']);

let made: readonly CountryName[] | null = null;

/**
 * Returns the codes of ISO 3166-1, and those reserved or in common use beside it (XK), each with the English names of its
 * country, further names last. The first call takes some 10 ms.
 */
export const countryNames = (): readonly CountryName[] =>
  (made ??= [
    ...namesOfCldr('en'),
    ...furtherNames
      .trim()
      .split(/ \/ |\n/)
      .map((line): CountryName => [line.slice(0, 2), line.slice(3)]),
  ]);

const namesOfCldr = (language: string): CountryName[] => {
  const names = new Intl.DisplayNames(language, { type: 'region', fallback: 'none' });
  currentCodes ??= twoLetters.filter((code) => !codesOfNoCountry.has(code) && isCurrent(code));
  return currentCodes.flatMap((code) => {
    const name = names.of(code);
    return name === undefined ? [] : [[code, name] as const];
  });
};

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'.split('');
const twoLetters = letters.flatMap((first) => letters.map((second) => first + second));

/** False for codes of former countries and for aliases, as UK is one of GB. */
const isCurrent = (code: string): boolean => Intl.getCanonicalLocales(`und-${code}`)[0] === `und-${code}`;

let currentCodes: readonly string[] | null = null;
