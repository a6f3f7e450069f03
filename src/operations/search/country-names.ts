type CountryName = readonly [code: string, name: string];

/** Names and abbreviations in use beside those of Unicode's CLDR, those of other versions among them. */
const furtherNames: readonly CountryName[] = [
  ['AE', 'UAE'],
  ['CI', 'Ivory Coast'],
  ['CV', 'Cabo Verde'],
  ['CV', 'Cape Verde'],
  ['CZ', 'Czech Republic'],
  ['CZ', 'Czechia'],
  ['GB', 'Britain'],
  ['GB', 'England'],
  ['GB', 'GBR'],
  ['GB', 'Great Britain'],
  ['HK', 'Hong Kong'],
  ['KR', 'Korea'],
  ['MM', 'Burma'],
  ['MM', 'Myanmar'],
  ['MO', 'Macau'],
  ['NL', 'Holland'],
  ['PS', 'Palestine'],
  ['SZ', 'Eswatini'],
  ['SZ', 'Swaziland'],
  ['TR', 'Türkiye'],
  ['TR', 'Turkey'],
  ['US', 'America'],
  ['US', 'United States of America'],
  ['US', 'USA'],
];

/** Codes that CLDR has names for, but of unions, groups and nothing. */
const codesOfNoCountry = new Set(['EU', 'EZ', 'QO', 'UN', 'XA', 'XB', 'ZZ']);

let made: readonly CountryName[] | null = null;

/**
 * Returns the codes of ISO 3166-1, and those reserved or in common use beside it (XK), each with the English names of its
 * country, further names last. The first call takes some 10 ms.
 */
export const countryNames = (): readonly CountryName[] => (made ??= [...namesOfCldr(), ...furtherNames]);

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
