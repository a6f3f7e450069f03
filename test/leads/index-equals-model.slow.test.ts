import * as fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import type { ImportOutcome } from '../../src/leads/lead-index.ts';
import type { Lead } from '../../src/leads/lead-source.ts';
import { compareLeads } from '../../src/leads/query/lead-filters.ts';
import { usernameKey } from '../../src/leads/query/fold-text.ts';
import { arbitraryLead, arbitraryQuery } from './arbitrary-leads.ts';
import { leadEngines } from './lead-engines.ts';
import { leadInputOf } from './lead-input-of.ts';
import { createReferenceSearch } from './reference-search.ts';
import type { TestProfiles } from './test-profiles.ts';

const { signal } = new AbortController();

type Mode = 'upsert' | 'replace';

/** A keeper in plain maps. */
const createModel = () => {
  const profiles = new Map<string, Lead>();
  const forgotten = new Set<string>();
  return {
    profiles,
    forgotten,
    importLeads: (leads: readonly Lead[], mode: Mode): ImportOutcome => {
      const before = new Set(profiles.keys());
      const taken = leads.filter(({ username }) => !forgotten.has(usernameKey(username)));
      const people = new Set(taken.map(({ username }) => usernameKey(username)));
      if (mode === 'replace' && leads.length > 0) profiles.clear();
      for (const lead of taken) profiles.set(usernameKey(lead.username), lead);
      const updated = [...people].filter((key) => before.has(key)).length;
      return {
        rows: leads.length,
        added: people.size - updated,
        updated,
        repeated: taken.length - people.size,
        forgotten: leads.length - taken.length,
        removed: mode === 'replace' ? [...before].filter((key) => !profiles.has(key)).length : 0,
        profiles: profiles.size,
      };
    },
    forget: (usernames: readonly string[]): number => {
      const keys = new Set(usernames.map(usernameKey));
      for (const key of keys) forgotten.add(key);
      return [...keys].filter((key) => profiles.delete(key)).length;
    },
    remember: (usernames: readonly string[]): number =>
      [...new Set(usernames.map(usernameKey))].filter((key) => forgotten.delete(key)).length,
  };
};

/** Few names, some of which differ in case alone, so that people come again. */
const username = fc.constantFrom(
  ...'ann ANN Ann bob Bob carol.c dave_99 Émile émile 東京 zoë 😀 \u{1F600}x o\u0308l öl'.split(' '),
);
const lead = fc.tuple(arbitraryLead, username).map(([fields, name]) => ({ ...fields, username: name }));
const leads = fc.array(fc.oneof({ weight: 3, arbitrary: lead }, arbitraryLead), { maxLength: 30 });
const usernames = fc.array(username, { minLength: 1, maxLength: 4 });
const mode = fc.constantFrom<Mode[]>('upsert', 'upsert', 'upsert', 'replace');

const change = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('import' as const), leads, mode }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('import that fails' as const), leads, mode }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('import during which people are forgotten' as const),
      leads,
      mode,
      usernames,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom('forget' as const, 'forget in part' as const, 'remember' as const),
      usernames,
    }),
  },
);

describe.each(leadEngines())('a keeper of profiles in $kind', ({ create }) => {
  let profiles: TestProfiles | null = null;
  afterEach(() => profiles?.remove());

  it('keeps, counts, exports and finds the same profiles as a map, after any sequence of changes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(change, { minLength: 2, maxLength: 7 }),
        fc.array(arbitraryQuery, { minLength: 5, maxLength: 10 }),
        async (changes, queries) => {
          await profiles?.remove();
          const at = await create();
          profiles = at;
          const model = createModel();
          for (const made of changes) {
            const keeper = await at.openKeeper();
            switch (made.kind) {
              case 'import': {
                const outcome = await keeper.importLeads({ ...made, input: leadInputOf(made.leads), signal });
                expect(outcome).toEqual(model.importLeads(made.leads, made.mode));
                break;
              }
              case 'import that fails': {
                const beforeBatch = (row: number): void => {
                  if (row >= 10) throw new Error('the input ends');
                };
                const input = leadInputOf([...made.leads, ...made.leads, ...made.leads], { beforeBatch });
                const importing = keeper.importLeads({ ...made, input, signal });
                if (made.leads.length > 3) await expect(importing).rejects.toThrow('the input ends');
                else
                  expect(await importing).toEqual(
                    model.importLeads([...made.leads, ...made.leads, ...made.leads], made.mode),
                  );
                break;
              }
              case 'import during which people are forgotten': {
                const beforeBatch = async (row: number): Promise<void> => {
                  if (row !== 10) return;
                  const other = await at.openKeeper();
                  await other.forget(made.usernames, { signal });
                  await other.close();
                };
                const { profiles: left } = await keeper.importLeads({
                  ...made,
                  input: leadInputOf(made.leads, { beforeBatch }),
                  signal,
                });
                model.importLeads(made.leads, made.mode);
                if (made.leads.length > 10) model.forget(made.usernames);
                expect(left).toBe(model.profiles.size);
                break;
              }
              case 'forget': {
                const removed = model.forget(made.usernames);
                expect(await keeper.forget(made.usernames, { signal })).toEqual({ removed });
                break;
              }
              case 'forget in part':
                // As a deletion that is killed when the list has the people.
                await at.people.add(made.usernames);
                model.forget(made.usernames);
                await keeper.sweep();
                break;
              case 'remember': {
                const restored = model.remember(made.usernames);
                expect(await keeper.remember(made.usernames)).toEqual({ restored });
              }
            }
            const expected = [...model.profiles.values()].sort(compareLeads);
            expect(await Array.fromAsync(keeper.exportLeads({ signal }))).toEqual(expected);
            expect(await keeper.stats()).toMatchObject({
              profiles: expected.length,
              forgotten: model.forgotten.size,
            });
            expect(await at.search(queries)).toEqual(queries.map(createReferenceSearch(expected)));
            await keeper.close();
          }
        },
      ),
      { numRuns: 40 },
    );
  });
});
