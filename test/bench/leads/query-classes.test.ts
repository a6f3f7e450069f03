import { describe, expect, it } from 'vitest';
import { createProfiles } from '../../../bench/leads/generate-profiles.ts';
import { makeQueries, queryClasses } from '../../../bench/leads/queries/query-classes.ts';
import { queryProblem } from '../../../src/leads/query/search-terms.ts';

const profiles = createProfiles(1);
const queriesOf = (name: string) => {
  const queryClass = queryClasses.find((known) => known.name === name);
  if (queryClass === undefined) throw new Error(`There is no class "${name}".`);
  return makeQueries({ queryClass, profiles, profileCount: 10_000, count: 200 });
};
const names = queryClasses.map(({ name }) => name);

describe('the query classes', () => {
  it('have names of their own', () => {
    expect(new Set(names).size).toBe(names.length);
  });

  it.each(names.filter((name) => name !== 'no filter'))(
    '%s: 200 different queries that are searched',
    (name) => {
      const queries = queriesOf(name);
      expect(new Set(queries.map((query) => JSON.stringify(query))).size).toBe(200);
      for (const { query, limit, minFollowers = 0, maxFollowers = Infinity } of queries) {
        expect(query === undefined ? null : queryProblem(query)).toBeNull();
        expect(limit).toBeGreaterThanOrEqual(1);
        expect(limit).toBeLessThanOrEqual(100);
        expect(maxFollowers).toBeGreaterThanOrEqual(minFollowers);
      }
    },
  );

  it('ask the same in every run', () => {
    expect(queriesOf('rare word')).toEqual(queriesOf('rare word'));
  });

  it('no filter: one query for each limit', () => {
    expect(
      queriesOf('no filter')
        .map(({ limit }) => limit)
        .sort((a, b) => a - b),
    ).toEqual(Array.from({ length: 100 }, (_, place) => place + 1));
  });
});
