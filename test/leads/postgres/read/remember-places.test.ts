import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Part } from '../../../../src/leads/postgres/part/part.ts';
import { createRecentPlaces } from '../../../../src/leads/postgres/read/recent-places.ts';
import { rememberPlaces } from '../../../../src/leads/postgres/read/remember-places.ts';
import { searchParts, type PartReader } from '../../../../src/leads/postgres/read/search-parts.ts';
import { createReferenceSearch } from '../../reference-search.ts';
import { generateLeads } from '../../../../src/leads/synthetic/generate-leads.ts';
import { arbitraryLeads, arbitraryQuery } from '../../arbitrary-leads.ts';
import { createMemoryParts } from '../memory-parts.ts';

const word = (text: string) => ({ text, isPrefix: false });

/** Forty parts, each of which holds the same places for every condition. */
const createParts = (bytes: number) => {
  const { parts } = createMemoryParts([
    { leads: [...generateLeads({ seed: 3, profiles: 40 })], partSize: 1 },
  ]);
  const asked: string[] = [];
  const reader: PartReader = {
    sizePlaces: async (_, conditions) => conditions.map(({ text }) => text.length),
    readPlaces: async (wanted, conditions) => {
      asked.push(`${conditions.map(({ text }) => text).join(' ')} in ${wanted.length}`);
      return wanted.map(() => conditions.map(() => ({ form: 'list', bytes: new Uint8Array(bytes) })));
    },
    readLeads: async () => [],
  };
  return { parts, reader, asked };
};

describe('remembered places', () => {
  it('change no answer, whatever was searched before, and however little is remembered', async () => {
    await fc.assert(
      fc.asyncProperty(
        arbitraryLeads,
        fc.array(arbitraryQuery, { minLength: 20, maxLength: 30 }),
        fc.constantFrom(0, 2_000, 1_000_000),
        async (leads, queries, maxBytes) => {
          const { parts, reader } = createMemoryParts([{ leads, partSize: 3 }]);
          const remembering = rememberPlaces(reader, createRecentPlaces(maxBytes));
          const reference = createReferenceSearch(leads);
          for (const query of [...queries, ...queries])
            expect(await searchParts(query, { parts, reader: remembering })).toEqual(reference(query));
        },
      ),
      { numRuns: 10 },
    );
  });

  it('are not read again, and what is not among them is', async () => {
    const { parts, reader, asked } = createParts(8);
    const remembering = rememberPlaces(reader, createRecentPlaces(1_000_000));
    await remembering.readPlaces(parts.slice(0, 3), [word('one'), word('two')]);
    await remembering.readPlaces(parts.slice(0, 3), [word('two'), word('one')]);
    await remembering.readPlaces(parts.slice(0, 5), [word('one'), word('three')]);
    await remembering.readPlaces(parts.slice(0, 3), [{ text: 'one', isPrefix: true }]);
    expect(asked).toEqual(['one two in 3', 'one three in 5', 'one in 3']);
  });

  it('tell their own size, and the others are asked for', async () => {
    const { parts, reader } = createParts(8);
    const remembering = rememberPlaces(reader, createRecentPlaces(1_000_000));
    const [part] = parts as [Part];
    expect(await remembering.sizePlaces(part, [word('one'), word('three')])).toEqual([3, 5]);
    await remembering.readPlaces([part], [word('one')]);
    const [known, unknown] = await remembering.sizePlaces(part, [word('one'), word('three')]);
    expect(known).not.toBe(3);
    expect(unknown).toBe(5);
  });

  it('go when there are too many, those used longest ago first', async () => {
    const { parts, reader, asked } = createParts(8);
    // Two conditions of forty parts find room.
    const remembering = rememberPlaces(reader, createRecentPlaces(2 * 40 * 170));
    for (const text of ['one', 'two', 'one', 'three']) await remembering.readPlaces(parts, [word(text)]);
    asked.length = 0;
    for (const text of ['one', 'three', 'two']) await remembering.readPlaces(parts, [word(text)]);
    expect(asked).toEqual(['two in 40']);
  });

  it('are not taken for those of another part that got the same id', async () => {
    const { parts, reader, asked } = createParts(8);
    const recent = createRecentPlaces(1_000_000);
    const remembering = rememberPlaces(reader, recent);
    const [before] = parts as [Part];
    const after = { ...before, run: 'made after a backup was put back' };
    for (const part of [before, after, after, before]) await remembering.readPlaces([part], [word('one')]);
    expect(asked).toHaveLength(3);
    asked.length = 0;
    recent.retain([after]);
    for (const part of [before, after]) await remembering.readPlaces([part], [word('one')]);
    expect(asked).toEqual(['one in 1', 'one in 1']);
  });

  it('go with their parts', async () => {
    const { parts, reader, asked } = createParts(8);
    const recent = createRecentPlaces(1_000_000);
    const remembering = rememberPlaces(reader, recent);
    await remembering.readPlaces(parts, [word('one')]);
    recent.retain(parts.slice(0, 30));
    await remembering.readPlaces(parts, [word('one')]);
    expect(asked).toEqual(['one in 40', 'one in 10']);
  });
});
