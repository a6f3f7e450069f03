import { describe, expect, it } from 'vitest';
import { countFacets } from '../../../src/leads/embedded/count-facets.ts';
import type { GenerationPart } from '../../../src/leads/embedded/open-generation.ts';
import { createRowSet } from '../../../src/leads/embedded/segment/row-set.ts';
import type { Lead } from '../../../src/leads/lead-source.ts';
import { buildLead } from '../build-lead.ts';
import { tinyShape, withSegment } from './segment/with-segment.ts';

let made = 0;
const people = (count: number, fields: Partial<Lead>): Lead[] =>
  Array.from({ length: count }, () => buildLead({ username: `user${(made += 1)}`, ...fields }));

const facetsOf = (leads: Lead[], { gone = 0, delta = [] }: { gone?: number; delta?: Lead[] } = {}) =>
  withSegment(
    leads,
    (segment) => {
      const rows = createRowSet(Array.from({ length: gone }).keys(), leads.length);
      const base: GenerationPart = { segment, gone: gone === 0 ? null : rows };
      if (delta.length === 0) return countFacets({ base, delta: null });
      return withSegment(
        delta,
        (other) => countFacets({ base, delta: { segment: other, gone: null } }),
        tinyShape,
      );
    },
    tinyShape,
  );

describe('the facets of an index', () => {
  it('are countries and categories with rounded counts, the most frequent first', async () => {
    const facets = await facetsOf([
      ...people(137, { country: 'us', category: 'Caf\u00e9', gender: 'male' }),
      ...people(29, { country: 'UK' }),
      ...people(40, { country: 'FR', category: 'Music/Band' }),
    ]);
    expect(facets).toEqual({
      countries: [
        { value: 'US', profiles: 130 },
        { value: 'FR', profiles: 40 },
        { value: 'GB', profiles: 20 },
      ],
      categories: [
        { value: 'caf\u00e9', profiles: 130 },
        { value: 'music/band', profiles: 40 },
      ],
    });
  });

  it('leave out what fewer than ten people have', async () => {
    const facets = await facetsOf([
      ...people(9, { country: 'IS', category: 'Astronaut' }),
      ...people(10, { country: 'NO', category: 'Skier' }),
    ]);
    expect(facets).toEqual({
      countries: [{ value: 'NO', profiles: 10 }],
      categories: [{ value: 'skier', profiles: 10 }],
    });
  });

  it('count a replaced profile once', async () => {
    const facets = await facetsOf(people(100, { country: 'BR' }), {
      gone: 50,
      delta: people(50, { country: 'BR' }),
    });
    expect(facets.countries).toEqual([{ value: 'BR', profiles: 100 }]);
  });

  it('have a hundred categories at most', async () => {
    const facets = await facetsOf(
      Array.from({ length: 101 }, (_, index) =>
        people(index === 7 ? 10 : 20, { category: `kind ${index}` }),
      ).flat(),
    );
    expect(facets.categories).toHaveLength(100);
    expect(facets.categories).not.toContainEqual(expect.objectContaining({ value: 'kind 7' }));
  });
});
