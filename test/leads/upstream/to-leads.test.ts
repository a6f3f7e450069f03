import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkLead } from '../../../src/leads/query/check-lead.ts';
import type { Lead } from '../../../src/leads/lead-source.ts';
import { createReferenceSearch } from '../reference-search.ts';
import { toLeads } from '../../../src/leads/upstream/to-leads.ts';
import { usernameKey } from '../../../src/leads/query/fold-text.ts';
import { buildLead } from '../build-lead.ts';
import { arbitraryLeads, arbitraryQuery } from '../arbitrary-leads.ts';

const read = (row: unknown): Record<string, unknown> => ({ ...(row as Record<string, unknown>) });

const profilesOf = (rows: readonly Lead[]): Lead[] => {
  const profiles = new Map<string, Lead>();
  for (const row of rows) {
    const checked = checkLead(read(row));
    if ('problem' in checked) continue;
    const key = usernameKey(checked.lead.username);
    if (!profiles.has(key)) profiles.set(key, checked.lead);
  }
  return [...profiles.values()];
};

describe('rows of an upstream', () => {
  it('whose words are checked give what our own search over them gives', async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryLeads, arbitraryQuery, async (rows, query) => {
        const { leads } = await toLeads(rows, { query, read, words: 'check' });
        expect(leads).toEqual(createReferenceSearch(profilesOf(rows))(query));
      }),
      { numRuns: 300 },
    );
  });

  it('whose words are trusted give what our own search without words gives', async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryLeads, arbitraryQuery, async (rows, query) => {
        const { leads } = await toLeads(rows, { query, read, words: 'upstream' });
        const { query: _words, ...filters } = query;
        expect(leads).toEqual(createReferenceSearch(profilesOf(rows))(filters));
      }),
      { numRuns: 300 },
    );
  });

  it('tell of the fields for filters that no profile among them has', async () => {
    const rows = [buildLead({ country: 'FR' }), { username: 'refused', followers: 'many', gender: 'male' }];
    const query = { country: 'US', gender: 'male', limit: 5 } as const;
    const found = await toLeads(rows, { query, read, words: 'upstream' });
    expect(found).toMatchObject({ leads: [], profiles: 1, refused: 1 });
    expect(found.missingFields.toSorted()).toEqual(['category', 'gender']);
  });

  it('with an unknown country are refused by a search for a country, and found without it by others', async () => {
    const row = { ...buildLead(), country: 'Atlantis' };
    const find = (query: { country?: string }) =>
      toLeads([row], { query: { limit: 5, ...query }, read, words: 'upstream' });
    expect(await find({})).toMatchObject({ leads: [buildLead()], refused: 0 });
    expect(await find({ country: 'US' })).toMatchObject({
      leads: [],
      refused: 1,
      firstProblem: 'country is neither a code nor a known name',
    });
  });

  it('that are refused are told of without what stands in them', async () => {
    const problemOf = async (row: object): Promise<string | null> =>
      (await toLeads([{ ...buildLead(), ...row }], { query: { limit: 5 }, read, words: 'upstream' }))
        .firstProblem;
    expect(await problemOf({ public_email: 'jane must be (at) home' })).toBe(
      'public_email must be an e-mail address.',
    );
    expect(await problemOf({ username: null })).toMatch(/^username must be only the name/);
  });
});
