import { describe, expect, it } from 'vitest';
import { toFacets } from '../../src/leads/facets.ts';

const none = new Map<string, number>();

describe('the facets of profiles', () => {
  it('are values with two digits of their count, rounded down, the most frequent first', () => {
    const country = new Map([
      ['GB', 29],
      ['US', 123_999],
      ['FR', 100],
      ['DE', 199],
      ['BR', 109],
    ]);
    expect(toFacets({ country, category: new Map([['café', 10]]) })).toEqual({
      countries: [
        { value: 'US', profiles: 120_000 },
        { value: 'DE', profiles: 190 },
        { value: 'BR', profiles: 100 },
        { value: 'FR', profiles: 100 },
        { value: 'GB', profiles: 20 },
      ],
      categories: [{ value: 'café', profiles: 10 }],
    });
  });

  it('leave out what fewer than ten people have', () => {
    const country = new Map([
      ['IS', 9],
      ['NO', 10],
    ]);
    expect(toFacets({ country, category: none }).countries).toEqual([{ value: 'NO', profiles: 10 }]);
  });

  it('have a hundred categories at most', () => {
    const category = new Map(
      Array.from({ length: 101 }, (_, index) => [`kind ${index}`, index === 7 ? 10 : 20]),
    );
    const { categories } = toFacets({ country: none, category });
    expect(categories).toHaveLength(100);
    expect(categories).not.toContainEqual(expect.objectContaining({ value: 'kind 7' }));
  });
});
