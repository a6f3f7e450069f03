import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LeadInputError } from '../../../src/leads/import/lead-input-error.ts';
import { compareLeads } from '../../../src/leads/query/lead-order.ts';
import type { ImportProgress, LeadInput, LeadKeeper } from '../../../src/leads/lead-keeper.ts';
import type { Lead } from '../../../src/leads/lead-source.ts';
import { createReferenceSearch } from '../reference-search.ts';
import { usernameKey } from '../../../src/leads/query/username-key.ts';
import { onPostgres } from '../../store/open-test-store.ts';
import { arbitraryLeads, arbitraryQuery } from '../arbitrary-leads.ts';
import { buildLead } from '../build-lead.ts';
import {
  createLeadDatabase,
  importAll,
  inputOf,
  noAbort,
  waitUntil,
  type LeadDatabase,
} from './lead-database.ts';
import { hasService, postgresUrl } from '../../outside-services.ts';

const partSizes = [3, 5, 8];
const people = (count: number, fields: Partial<Lead> = {}): Lead[] =>
  Array.from({ length: count }, (_, index) =>
    buildLead({ username: `person${index}`, followers: 1000 + ((index * 37) % 500), ...fields }),
  );
const names = (leads: readonly Lead[]): string[] => leads.map(({ username }) => username);
const exported = (keeper: LeadKeeper): Promise<Lead[]> =>
  Array.fromAsync(keeper.exportLeads({ signal: noAbort() }));

describe.runIf(hasService('PostgreSQL'))('the keeper of leads in PostgreSQL', () => {
  let database: LeadDatabase;
  beforeEach(() => {
    database = createLeadDatabase();
  });
  afterEach(() => database.remove());

  const openReadyLeads = async () => {
    const source = await database.openLeads();
    await waitUntil(() => source.status().ready);
    return source;
  };
  const find = async (query: string): Promise<string[]> => {
    const source = await openReadyLeads();
    return names(await source.search({ query, limit: 100 }, { signal: noAbort() }));
  };

  it('has what a model has after any imports, and any who are forgotten and remembered', async () => {
    const keeper = await database.openKeeper({ partSizes });
    await importAll(keeper, []);
    const source = await openReadyLeads();
    const usernames = fc.array(fc.constantFrom('fit', 'FIT', 'café', 'JohnDoe', '東京', 'x'), {
      maxLength: 3,
    });
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ kind: fc.constant('upsert' as const), leads: arbitraryLeads }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant('replace' as const), leads: arbitraryLeads }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('forget', 'remember'), usernames }) },
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 3, maxLength: 8 }),
        fc.array(arbitraryQuery, { minLength: 5, maxLength: 10 }),
        async (steps, queries) => {
          await importAll(keeper, [], { mode: 'replace' });
          await keeper.remember(['fit', 'café', 'JohnDoe', '東京', 'x']);
          const model = createModel();
          for (const taken of steps) {
            switch (taken.kind) {
              case 'upsert':
              case 'replace':
                expect(await importAll(keeper, taken.leads, { mode: taken.kind })).toEqual(
                  model.import(taken.leads, taken.kind),
                );
                break;
              case 'forget':
                expect(await keeper.forget(taken.usernames, { signal: noAbort() })).toEqual({
                  removed: model.forget(taken.usernames),
                });
                break;
              case 'remember':
                expect(await keeper.remember(taken.usernames)).toEqual({
                  restored: model.remember(taken.usernames),
                });
            }
          }
          const leads = model.leads();
          expect(await exported(keeper)).toEqual(leads);
          expect(await keeper.stats()).toMatchObject({
            profiles: leads.length,
            forgotten: model.forgotten(),
          });
          const reference = createReferenceSearch(leads);
          for (const query of queries)
            expect(await source.search(query, { signal: noAbort() })).toEqual(reference(query));
        },
      ),
      { numRuns: 4 },
    );
  });

  it('goes on behind the last staged batch when reading broke off, and gives the same result', async () => {
    const keeper = await database.openKeeper({ stageRows: 14 });
    const leads = people(50);
    const whole = inputOf(leads);
    const asked: unknown[] = [];
    const breaking = (failAt: number): LeadInput => ({
      key: whole.key,
      async *read({ after, signal }) {
        asked.push(after);
        for await (const batch of whole.read({ after, signal })) {
          if (batch.position === failAt) throw new Error('the disk is gone');
          yield batch;
        }
      },
    });
    await expect(importAll(keeper, [], { input: breaking(42) })).rejects.toEqual(
      new Error('the disk is gone'),
    );
    expect((await keeper.stats()).unfinished).toMatchObject({ rows: 28 });
    const told: ImportProgress[] = [];
    const outcome = await importAll(keeper, [], {
      input: breaking(Infinity),
      onProgress: (progress) => told.push(progress),
    });
    expect(outcome).toEqual({ rows: 50, added: 50, updated: 0, repeated: 0, forgotten: 0, profiles: 50 });
    expect(told[0]).toMatchObject({ phase: 'reading', isResumed: true });
    expect(asked).toEqual([null, 28]);
    expect(await exported(keeper)).toEqual(leads.toSorted(compareLeads));
    expect((await keeper.stats()).unfinished).toBeNull();
  });

  it('leaves what is served as it was when its connection is lost, and reads nothing twice afterwards', async () => {
    const keeper = await database.openKeeper();
    await importAll(keeper, people(20, { bio: 'old' }));
    const marked = await database.openKeeper({
      url: `${postgresUrl}?application_name=${database.schema}`,
      partSizes,
    });
    const newer = people(30, { bio: 'new' });
    await onPostgres(async (client) => {
      await client.query('begin');
      // The import's last statements wait here, all profiles being written.
      await client.query(`lock table ${database.schema}.state in exclusive mode`);
      const losing = importAll(marked, [], { input: inputOf(newer, { key: 'newer' }) }).then(
        () => null,
        (error: unknown) => error,
      );
      await waitUntil(() => isWaiting(database.schema));
      await terminate(database.schema);
      expect(await losing).toMatchObject({ problem: 'failed' });
      await client.query('rollback');
    });
    expect(await find('old')).toHaveLength(20);
    expect(await find('new')).toEqual([]);

    const unreadable: LeadInput = {
      key: 'newer',
      read: () => {
        throw new Error('read again');
      },
    };
    const outcome = await importAll(keeper, [], { input: unreadable });
    expect(outcome).toMatchObject({ rows: 30, added: 10, updated: 20, profiles: 30 });
    expect(await exported(keeper)).toEqual(newer.toSorted(compareLeads));
  });

  it('tells that an import is in also when the connection it read over was lost meanwhile', async () => {
    const keeper = await database.openKeeper({
      url: `${postgresUrl}?application_name=${database.schema}`,
      partSizes,
    });
    await importAll(keeper, people(20));
    await onPostgres(async (client) => {
      await client.query('begin');
      await client.query(`lock table ${database.schema}.state in exclusive mode`);
      const importing = importAll(keeper, people(30));
      await waitUntil(() => isWaiting(database.schema));
      await terminate(database.schema, { state: 'idle in transaction' });
      await client.query('rollback');
      expect(await importing).toMatchObject({ added: 10, updated: 20, profiles: 30 });
    });
    expect(await exported(keeper)).toHaveLength(30);
  });

  it('tells that an import is in also when tidying up after it fails, and the next one does that', async () => {
    const keeper = await database.openKeeper({
      url: `${postgresUrl}?application_name=${database.schema}`,
      stageRows: 1,
    });
    const rowsStaged = (): Promise<number> => countRows(`${database.schema}.staged`);
    await onPostgres(async (client) => {
      await client.query('begin');
      const importing = importAll(keeper, [], {
        input: {
          key: 'input',
          async *read() {
            yield { leads: people(3), position: 3 };
            // It keeps nobody from reading and writing, but from emptying the table.
            await client.query(`lock table ${database.schema}.staged in access share mode`);
            yield { leads: [], position: 'end' };
          },
        },
      });
      await waitUntil(() => isWaiting(database.schema));
      await terminate(database.schema, { state: 'active' });
      await client.query('rollback');
      expect(await importing).toMatchObject({ rows: 3, profiles: 3 });
    });
    expect(await rowsStaged()).toBe(3);
    expect(await importAll(keeper, people(4))).toMatchObject({ added: 1, updated: 3, profiles: 4 });
    expect(await rowsStaged()).toBe(0);
  });

  it('rejects with the very error of an input that cannot be read', async () => {
    const keeper = await database.openKeeper();
    const unreadable = new LeadInputError('Line 3 is no JSON object.');
    const inputs: LeadInput['read'][] = [
      () => {
        throw unreadable;
      },
      async function* () {
        yield { leads: people(1), position: 1 };
        throw unreadable;
      },
    ];
    for (const read of inputs) {
      const failed: unknown = await importAll(keeper, [], { input: { key: null, read } }).catch(
        (error: unknown) => error,
      );
      expect(failed).toBe(unreadable);
    }
  });

  it('ends an import that is aborted, with the reason, and goes on with it later', async () => {
    const keeper = await database.openKeeper({ partSizes });
    const aborting = new AbortController();
    const leads = people(40);
    const aborted = importAll(keeper, leads, {
      signal: aborting.signal,
      onProgress: ({ phase }) => {
        if (phase === 'indexing') aborting.abort(new Error('stopped by hand'));
      },
    });
    await expect(aborted).rejects.toThrow('stopped by hand');
    expect((await keeper.stats()).profiles).toBe(0);
    expect(await importAll(keeper, leads)).toMatchObject({ rows: 40, added: 40, profiles: 40 });
  });

  it('gives an unfinished import up for one of another input, and keeps none that cannot be read twice', async () => {
    const keeper = await database.openKeeper();
    const broken = (key: string | null): LeadInput => ({
      key,
      async *read() {
        yield { leads: people(3), position: 3 };
        throw new Error('cut off');
      },
    });
    await expect(importAll(keeper, [], { input: broken('one') })).rejects.toThrow('cut off');
    await expect(importAll(keeper, [], { input: broken(null) })).rejects.toThrow('cut off');
    expect((await keeper.stats()).unfinished).toBeNull();
    expect(await importAll(keeper, people(1))).toMatchObject({ rows: 1, profiles: 1 });
  });

  it('lets one process at a time change the profiles', async () => {
    const [one, other] = [await database.openKeeper(), await database.openKeeper()];
    const reading = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const slow: LeadInput = {
      key: null,
      async *read() {
        reading.resolve();
        await release.promise;
        yield { leads: people(2), position: 2 };
      },
    };
    const importing = importAll(one, [], { input: slow });
    await reading.promise;
    for (const change of [
      () => importAll(other, []),
      () => other.forget(['person0'], { signal: noAbort() }),
      () => other.remember(['person0']),
    ])
      await expect(change()).rejects.toMatchObject({ problem: 'busy' });
    release.resolve();
    expect(await importing).toMatchObject({ profiles: 2 });
    expect(await other.forget(['person0'], { signal: noAbort() })).toEqual({ removed: 1 });
  });

  it('shows searches the old profiles or the new ones, never some of both', async () => {
    const keeper = await database.openKeeper({ partSizes: [10] });
    // So many that what is updated stands beside them: nothing is written anew as a whole.
    const others = Array.from({ length: 600 }, (_, index) => buildLead({ username: `other${index}` }));
    await importAll(keeper, [...others, ...people(60, { bio: 'same version0' })]);
    const source = await openReadyLeads();
    const seen = new Set<string | undefined>();
    let isOver = false;
    const looking = (async () => {
      while (!isOver) {
        const found = await source.search({ query: 'same', limit: 100 }, { signal: noAbort() });
        const versions = new Set(found.map(({ bio }) => bio));
        expect({ found: found.length, versions: versions.size }).toEqual({ found: 60, versions: 1 });
        seen.add([...versions][0]);
      }
    })();
    try {
      for (const [version, mode] of ['upsert', 'upsert', 'upsert', 'replace', 'upsert'].entries())
        await importAll(keeper, people(60, { bio: `same version${version + 1}` }), {
          mode: mode === 'replace' ? 'replace' : 'upsert',
        });
    } finally {
      isOver = true;
    }
    await looking;
    expect(seen.size).toBeGreaterThan(1);
    expect([...seen].at(-1)).toBe('same version5');
  });

  it('forgets people everywhere at once, also in an import that is under way, and for good', async () => {
    const keeper = await database.openKeeper({ stageRows: 10 });
    await importAll(keeper, people(10));
    const source = await openReadyLeads();
    const before = source.status().revision;
    const search = async (): Promise<string[]> =>
      names(await source.search({ query: 'person3', limit: 10 }, { signal: noAbort() }));
    expect(await search()).toEqual(['person3']);
    const broken: LeadInput = {
      key: 'again',
      async *read() {
        yield { leads: people(10), position: 10 };
        throw new Error('cut off');
      },
    };
    await expect(importAll(keeper, [], { input: broken })).rejects.toThrow('cut off');

    expect(await keeper.forget(['PERSON3', 'stranger'], { signal: noAbort() })).toEqual({ removed: 1 });
    expect(await search()).toEqual([]);
    await waitUntil(() => source.status().revision !== before);
    expect(source.status().profiles).toBe(9);
    const text = await everythingStored(database.schema);
    expect(text).toContain('person4');
    expect(text).not.toContain('person3"');

    const again = { ...inputOf(people(10)), key: 'again' };
    expect(await importAll(keeper, [], { input: again })).toMatchObject({ forgotten: 1, profiles: 9 });
    expect(await search()).toEqual([]);
    expect(await keeper.remember(['person3', 'nobody'])).toEqual({ restored: 1 });
    expect(await importAll(keeper, people(10))).toMatchObject({ added: 1, updated: 9, profiles: 10 });
    expect(await search()).toEqual(['person3']);
  });

  it('leaves no word of forgotten people in any list after the next import, however small', async () => {
    const keeper = await database.openKeeper({ partSizes: [50] });
    const others = Array.from({ length: 300 }, (_, index) => buildLead({ username: `other${index}` }));
    await importAll(keeper, [...others, ...people(2, { bio: 'quaintly' })]);
    await importAll(keeper, people(1, { bio: 'newer' }));
    const listsWith = async (word: string): Promise<number> => {
      const { generation } = await readState(database.schema);
      return countRows(
        `${database.schema}.blocks_${generation} where position('${word}'::bytea in data) > 0`,
      );
    };
    await keeper.forget(['person1'], { signal: noAbort() });
    await keeper.forget(['person0'], { signal: noAbort() });
    expect([await listsWith('uaintly'), await listsWith('newer')]).not.toContain(0);
    await importAll(keeper, [buildLead({ username: 'one more' })]);
    expect([await listsWith('uaintly'), await listsWith('newer')]).toEqual([0, 0]);
    expect(await keeper.stats()).toMatchObject({ profiles: 301 });
  });

  it('keeps no row of forgotten people of an import under way, and takes none in', async () => {
    const keeper = await database.openKeeper({ stageRows: 1 });
    const input = (leads: Lead[]): LeadInput => ({
      key: 'input',
      async *read() {
        yield { leads, position: 1 };
        throw new Error('cut off');
      },
    });
    await expect(importAll(keeper, [], { input: input(people(2)) })).rejects.toThrow('cut off');
    expect(await keeper.forget(['person0', 'person1'], { signal: noAbort() })).toEqual({ removed: 0 });
    expect(await countRows(`${database.schema}.staged`)).toBe(0);
    // What it frees at once depends on the transactions that others have open in the database.
    const { rows } = await onPostgres((client) =>
      client.query(
        `select vacuum_count::integer as vacuums from pg_stat_user_tables
         where schemaname = $1 and relname = 'staged'`,
        [database.schema],
      ),
    );
    expect(rows).toEqual([{ vacuums: 1 }]);
    await expect(importAll(keeper, [], { input: input(people(3)) })).rejects.toThrow('cut off');
    expect(await countRows(`${database.schema}.staged`)).toBe(1);
    expect((await keeper.stats()).unfinished).toMatchObject({ rows: 5 });
  });

  it('exports the profiles as they stood at the beginning, while they are replaced', async () => {
    const keeper = await database.openKeeper({ partSizes: [5] });
    const leads = people(2500);
    await importAll(await database.openKeeper(), leads, { input: inputOf(leads, { batchRows: 500 }) });
    const exporting = keeper.exportLeads({ signal: noAbort() })[Symbol.asyncIterator]();
    const first = await exporting.next();
    await importAll(keeper, people(1, { bio: 'new' }), { mode: 'replace' });
    const rest: Lead[] = [];
    for (let next = await exporting.next(); next.done !== true; next = await exporting.next())
      rest.push(next.value);
    expect([first.value, ...rest]).toEqual(leads.toSorted(compareLeads));
    expect(await exported(keeper)).toHaveLength(1);
  });

  it('leaves no tables of earlier generations behind', async () => {
    const keeper = await database.openKeeper();
    for (const count of [5, 6, 7]) await importAll(keeper, people(count), { mode: 'replace' });
    const { rows } = await onPostgres((client) =>
      client.query('select tablename from pg_tables where schemaname = $1 order by 1', [database.schema]),
    );
    const tables = rows.map(({ tablename }) => String(tablename)).filter((name) => /_\d+$/.test(name));
    expect(tables).toEqual(['blocks_4', 'profiles_4']);
  });

  it('needs no right to make a schema when there is one, and says what to do when there is none', async () => {
    const role = `${database.schema}_user`;
    const asRole = { url: `${postgresUrl}?options=${encodeURIComponent(`-c role=${role}`)}` };
    await onPostgres((client) => client.query(`create role ${role}`));
    try {
      await expect(database.openKeeper(asRole)).rejects.toMatchObject({
        problem: 'failed',
        message: expect.stringContaining(
          `Give the user CREATE on the database, or make the schema ${database.schema} for it.`,
        ),
      });
      await onPostgres((client) => client.query(`create schema ${database.schema} authorization ${role}`));
      const keeper = await database.openKeeper(asRole);
      expect(await importAll(keeper, people(2))).toMatchObject({ profiles: 2 });
    } finally {
      await onPostgres((client) => client.query(`drop owned by ${role} cascade; drop role ${role}`));
    }
  });

  it('says why when the database cannot be reached', async () => {
    const url = 'postgres://postgres@127.0.0.1:1/test';
    await expect(database.openKeeper({ url })).rejects.toMatchObject({
      problem: 'failed',
      message: expect.stringContaining('ECONNREFUSED'),
    });
  });
});

/** What a keeper must have, worked out over a Map. */
const createModel = () => {
  let profiles = new Map<string, Lead>();
  const forgotten = new Set<string>();
  return {
    import: (leads: readonly Lead[], mode: 'upsert' | 'replace') => {
      const welcome = leads.filter(({ username }) => !forgotten.has(usernameKey(username)));
      const incoming = new Map(welcome.map((lead) => [usernameKey(lead.username), lead]));
      const updated = [...incoming.keys()].filter((key) => profiles.has(key)).length;
      profiles = new Map([...(mode === 'replace' ? [] : profiles), ...incoming]);
      return {
        rows: leads.length,
        added: incoming.size - updated,
        updated,
        repeated: welcome.length - incoming.size,
        forgotten: leads.length - welcome.length,
        profiles: profiles.size,
      };
    },
    forget: (usernames: readonly string[]): number => {
      for (const username of usernames) forgotten.add(usernameKey(username));
      return usernames.filter((username) => profiles.delete(usernameKey(username))).length;
    },
    remember: (usernames: readonly string[]): number =>
      usernames.filter((username) => forgotten.delete(usernameKey(username))).length,
    forgotten: () => forgotten.size,
    leads: () => [...profiles.values()].sort(compareLeads),
  };
};

/** Whether a connection with this application name waits for a lock. */
const isWaiting = (name: string): Promise<boolean> =>
  onPostgres(async (client) => {
    const { rows } = await client.query(
      `select 1 from pg_stat_activity where application_name = $1 and wait_event_type = 'Lock'`,
      [name],
    );
    return rows.length > 0;
  });

/** Ends the connections with this application name, all or those in one state. */
const terminate = (name: string, { state = null }: { state?: string | null } = {}): Promise<unknown> =>
  onPostgres((client) =>
    client.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where application_name = $1 and state = coalesce($2, state)`,
      [name, state],
    ),
  );

const readState = (schema: string): Promise<{ generation: number }> =>
  onPostgres(async (client) => {
    const { rows } = await client.query(`select generation from ${schema}.state`);
    return { generation: Number(rows[0]?.generation) };
  });

/** How many rows of `source` there are; it is what stands behind FROM. */
const countRows = (source: string): Promise<number> =>
  onPostgres(async (client) => {
    const { rows } = await client.query(`select count(*) as count from ${source}`);
    return Number(rows[0]?.count);
  });

/** The rows of all tables of profiles, as text. */
const everythingStored = (schema: string): Promise<string> =>
  onPostgres(async (client) => {
    const { rows } = await client.query(
      `select tablename from pg_tables where schemaname = $1 and tablename ~ '^(profiles|staged|forgotten|parts)'`,
      [schema],
    );
    let text = '';
    for (const { tablename } of rows) {
      const stored = await client.query(
        `select string_agg(t::text, ' ') as text from ${schema}.${tablename} as t`,
      );
      text += String(stored.rows[0]?.text);
    }
    return text.replaceAll('""', '"');
  });
