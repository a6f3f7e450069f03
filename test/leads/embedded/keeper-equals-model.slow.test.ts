import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { KeeperLimits } from '../../../src/leads/embedded/keeper-limits.ts';
import { openEmbeddedKeeper } from '../../../src/leads/embedded/open-embedded-keeper.ts';
import { openCurrentGeneration } from '../../../src/leads/embedded/open-generation.ts';
import { createSegmentPool } from '../../../src/leads/embedded/segment-pool.ts';
import { compareLeads } from '../../../src/leads/query/lead-order.ts';
import type { ImportOutcome } from '../../../src/leads/lead-keeper.ts';
import type { Lead, LeadQuery } from '../../../src/leads/lead-source.ts';
import { createReferenceSearch } from '../reference-search.ts';
import { usernameKey } from '../../../src/leads/query/username-key.ts';
import { openFolderPlace } from '../../../src/leads/shared/folder-place.ts';
import { openSharedKeeper } from '../../../src/leads/shared/open-shared-keeper.ts';
import { arbitraryLead, arbitraryQuery } from '../arbitrary-leads.ts';
import { leadInputOf } from './lead-input-of.ts';

const signal = new AbortController().signal;
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leads-'));
});
afterEach(() => rm(folder, { recursive: true }));

/** What a keeper is to do, in plain maps. */
const createModel = () => {
  const profiles = new Map<string, Lead>();
  const forgotten = new Set<string>();
  return {
    profiles,
    forgotten,
    importLeads: (leads: readonly Lead[], mode: 'upsert' | 'replace'): ImportOutcome => {
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
const someLeads = fc.array(fc.oneof({ weight: 3, arbitrary: lead }, arbitraryLead), { maxLength: 30 });
const someNames = fc.array(username, { minLength: 1, maxLength: 4 });

type Change =
  | { kind: 'import'; leads: Lead[]; mode: 'upsert' | 'replace'; deltaProfiles: number }
  | { kind: 'forget' | 'remember'; usernames: string[] };
const change: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('import' as const),
      leads: someLeads,
      mode: fc.constantFrom('upsert' as const, 'upsert' as const, 'upsert' as const, 'replace' as const),
      deltaProfiles: fc.constantFrom(0, 20, 1000),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom('forget' as const, 'forget' as const, 'remember' as const),
      usernames: someNames,
    }),
  },
);

const searchIn = (at: string, queries: readonly LeadQuery[]): Lead[][] => {
  const pool = createSegmentPool(at);
  const generation = openCurrentGeneration(at, pool);
  const answers = queries.map((query) => generation?.search(query) ?? []);
  pool.closeExcept([]);
  return answers;
};

/** Two machines of a fleet take turns: each change is made by the other one. */
const openSharedInTurn = () => {
  let turn = 0;
  return {
    open: async (at: string, limits: Partial<KeeperLimits>) => {
      turn += 1;
      await mkdir(join(at, 'place'), { recursive: true });
      const machine = join(at, turn % 2 === 0 ? 'even' : 'odd');
      return openSharedKeeper(openFolderPlace(join(at, 'place')), { folder: machine, limits });
    },
    searched: (at: string) => join(at, turn % 2 === 0 ? 'even' : 'odd', 'profiles'),
  };
};

const engines = [
  {
    what: 'the embedded keeper',
    numRuns: 25,
    open: (at: string, limits: Partial<KeeperLimits>) => openEmbeddedKeeper({ folder: at, limits }),
    searched: (at: string) => at,
  },
  { what: 'the keepers of a fleet', numRuns: 10, ...openSharedInTurn() },
];

describe.each(engines)('$what', ({ open, searched, numRuns }) => {
  it('keeps, counts, exports and finds the same profiles as a map, after any sequence of changes', async () => {
    let rounds = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(change, { minLength: 2, maxLength: 6 }),
        fc.array(arbitraryQuery, { minLength: 5, maxLength: 10 }),
        async (changes, queries) => {
          rounds += 1;
          const at = join(folder, String(rounds));
          const model = createModel();
          for (const made of changes) {
            const limits = made.kind === 'import' ? { deltaProfiles: made.deltaProfiles } : {};
            const keeper = await open(at, limits);
            if (made.kind === 'import') {
              const { leads, mode } = made;
              const outcome = await keeper.importLeads({ input: leadInputOf(leads), mode, signal });
              expect(outcome).toEqual(model.importLeads(leads, mode));
            } else if (made.kind === 'forget') {
              const removed = model.forget(made.usernames);
              expect(await keeper.forget(made.usernames, { signal })).toEqual({ removed });
            } else {
              const restored = model.remember(made.usernames);
              expect(await keeper.remember(made.usernames)).toEqual({ restored });
            }
            const expected = [...model.profiles.values()].sort(compareLeads);
            expect(await Array.fromAsync(keeper.exportLeads({ signal }))).toEqual(expected);
            expect(await keeper.stats()).toMatchObject({
              profiles: expected.length,
              forgotten: model.forgotten.size,
            });
            expect(searchIn(searched(at), queries)).toEqual(queries.map(createReferenceSearch(expected)));
          }
        },
      ),
      { numRuns },
    );
  });
});
