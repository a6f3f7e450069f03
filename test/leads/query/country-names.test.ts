import { describe, expect, it } from 'vitest';
import { countryNamed, countryNames } from '../../../src/leads/query/country-names.ts';

describe('a country by its name', () => {
  it.each([
    ['Germany', 'DE'],
    ['Deutschland', 'DE'],
    ['ALEMANIA', 'DE'],
    ['Alemanha', 'DE'],
    ['Allemagne', 'DE'],
    ['Germania', 'DE'],
    ['Duitsland', 'DE'],
    ['Niemcy', 'DE'],
    ['Almanya', 'DE'],
    ['Jerman', 'DE'],
    ['Германия', 'DE'],
    ['ألمانيا', 'DE'],
    ['जर्मनी', 'DE'],
    ['ドイツ', 'DE'],
    ['독일', 'DE'],
    ['德国', 'DE'],
    ['德國', 'DE'],
    ['Etats Unis', 'US'],
    ['the United States', 'US'],
    ['EE.UU.', 'US'],
    ['Cote d Ivoire', 'CI'],
    ['Bosnia and Herzegovina', 'BA'],
    ['Korea, Republic of', 'KR'],
    ["Korea, Democratic People's Republic of", 'KP'],
    ['Niger', 'NE'],
    ['Nigeria', 'NG'],
  ])('%s is %s', (name, code) => {
    expect(countryNamed(name)).toBe(code);
  });

  it.each(['', '???', 'Atlantis', 'Europe', 'United', 'en', 'DE'])('%j is none', (name) => {
    expect(countryNamed(name)).toBeNull();
  });

  it('is each English name', () => {
    for (const [code, name] of countryNames()) expect([name, countryNamed(name)]).toEqual([name, code]);
  });
});
