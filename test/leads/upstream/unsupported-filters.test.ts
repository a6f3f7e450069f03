import { describe, expect, it } from 'vitest';
import type { LeadQuery } from '../../../src/leads/lead-source.ts';
import { createUnsupportedFilters } from '../../../src/leads/upstream/unsupported-filters.ts';
import { filterFields } from '../../../src/leads/upstream/to-leads.ts';

const inFood = (query: string): LeadQuery => ({ query, category: 'Food', limit: 20 });
const withoutCategory = { profiles: 10, missingFields: ['category' as const] };
const withAll = { profiles: 1, missingFields: [] };
const withNone = { profiles: 10, missingFields: [...filterFields] };

const open = () => {
  const clock = { ms: 1_000 };
  return { clock, filters: createUnsupportedFilters({ fields: {} }, () => clock.ms) };
};

describe('a filter on a field that an upstream does not tell', () => {
  it('is not asked for ten minutes after three searches missed it, and after each one that misses it then', () => {
    const { clock, filters } = open();
    for (const words of ['a', 'b']) filters.learn(inFood(words), withNone);
    expect(filters.refused(inFood('c'))).toBe(null);
    filters.learn(inFood('c'), withNone);
    expect(filters.refused(inFood('d'))).toBe('category');
    expect(filters.refused({ query: 'd', limit: 20 })).toBe(null);
    clock.ms += 600_000;
    expect(filters.refused(inFood('d'))).toBe(null);
    filters.learn(inFood('d'), withNone);
    expect(filters.refused(inFood('e'))).toBe('category');
  });

  it('is asked for again as soon as any answer has the field, also one to a search without the filter', () => {
    const { filters } = open();
    for (const words of ['a', 'b', 'c']) filters.learn(inFood(words), withoutCategory);
    expect(filters.refused(inFood('d'))).toBe('category');
    filters.learn({ limit: 5 }, withAll);
    expect(filters.refused(inFood('d'))).toBe(null);
  });

  it('is not missed by who repeats a search, or by a few profiles', () => {
    const { filters } = open();
    for (const limit of [1, 2, 3, 4]) filters.learn({ ...inFood('same'), limit }, withNone);
    for (const words of ['a', 'b', 'c']) filters.learn(inFood(words), { ...withNone, profiles: 9 });
    expect(filters.refused(inFood('d'))).toBe(null);
  });

  it('is not missed within an hour of an answer that had the field: only some profiles lack it', () => {
    const { clock, filters } = open();
    filters.learn(inFood('told'), withAll);
    for (let search = 0; search < 9; search += 1) filters.learn(inFood(`shy ${search}`), withoutCategory);
    expect(filters.refused(inFood('other'))).toBe(null);
    clock.ms += 3_600_000;
    for (let search = 0; search < 3; search += 1) filters.learn(inFood(`shy ${search}`), withoutCategory);
    expect(filters.refused(inFood('other'))).toBe('category');
  });
});
