import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ImportPhase, LeadIndex } from '../../../src/leads/lead-index.ts';
import type { Lead } from '../../../src/leads/lead-source.ts';
import { hasService } from '../../outside-services.ts';
import { buildLead } from '../build-lead.ts';
import { leadInputOf } from '../lead-input-of.ts';
import { createPostgresProfiles, type PostgresProfiles } from './create-postgres-profiles.ts';

const { signal } = new AbortController();
let profiles: PostgresProfiles;
let keeper: LeadIndex;

const people = (count: number, fields: Partial<Lead> = {}, from = 0): Lead[] =>
  Array.from({ length: count }, (_, index) =>
    buildLead({ username: `user${from + index}`, followers: index, ...fields }),
  );
const take = (leads: readonly Lead[], mode: 'upsert' | 'replace' = 'upsert') =>
  keeper.importLeads({ input: leadInputOf(leads), mode, signal });
const namesFor = async (query: string): Promise<string[]> => {
  const [found = []] = await profiles.search([{ query, limit: 100 }]);
  return found.map(({ username }) => username);
};
/** The tables of sets, without their parts. */
const tables = async (): Promise<unknown[]> =>
  (
    await profiles.sql(
      `select relname from pg_class where relnamespace = current_schema()::text::regnamespace
        and relname like 'leads\\_%' and relkind in ('r', 'p') and not relispartition`,
    )
  ).map(({ relname }) => relname);
const currentTable = async (): Promise<string> =>
  String((await profiles.sql('select name from lead_set'))[0]?.['name']);

describe.runIf(hasService('PostgreSQL'))('a keeper of profiles in PostgreSQL', () => {
  beforeEach(async () => {
    profiles = await createPostgresProfiles();
    keeper = await profiles.openKeeper();
  });
  afterEach(async () => {
    await keeper.close();
    await profiles.remove();
  });

  it('cuts a set into parts, the first of them smaller, with equally many followers in one part', async () => {
    await take([...people(50), ...people(40, { followers: 7 }, 100)]);
    const name = await currentTable();
    const parts = await profiles.sql(
      `select min(followers)::int as least, max(followers)::int as most, count(*)::int as profiles
        from ${name} group by tableoid order by 1`,
    );
    expect(parts.length).toBeGreaterThan(5);
    expect(parts.map(({ profiles }) => Number(profiles)).reduce((sum, one) => sum + one)).toBe(90);
    expect(Number(parts.at(-1)?.['profiles'])).toBe(1);
    for (const [place, { least }] of parts.entries())
      expect(Number(least)).toBeGreaterThan(Number(parts[place - 1]?.['most'] ?? -1));
  });

  it('keeps characters that mean something to COPY and to text search', async () => {
    const odd = buildLead({
      username: 'o\u0308dd',
      full_name: "O'Neill \\. \\N \t tab\nline\r\n'quoted' \\",
      bio: "'a' & !b | c:* <-> \\' \u0001",
      category: "Rock'n\\Roll",
    });
    await take([odd]);
    expect(await profiles.search([{ limit: 5, query: "o'neill quoted" }])).toEqual([[odd]]);
    expect(await profiles.search([{ limit: 5, category: "ROCK'N\\ROLL" }])).toEqual([[odd]]);
  });

  it('keeps the last of many rows of one person', async () => {
    const rows = people(50, { username: 'Same' }).map((lead, index) => ({ ...lead, bio: `row ${index}` }));
    expect(await take([...people(3), ...rows, ...people(2)])).toMatchObject({ added: 4, repeated: 51 });
    expect(await namesFor('same')).toEqual(['Same']);
    expect(await profiles.search([{ query: 'row 49', limit: 5 }])).toMatchObject([[{ followers: 49 }]]);
  });

  it('allows one import at a time', async () => {
    await take(people(3));
    const other = await profiles.openKeeper();
    let attempt: Promise<unknown> = Promise.resolve();
    const input = leadInputOf(people(5, { bio: 'next' }), {
      beforeBatch: async () => {
        attempt = other.importLeads({ input: leadInputOf(people(9)), mode: 'upsert', signal });
        await attempt.catch(() => undefined);
      },
    });
    expect(await keeper.importLeads({ input, mode: 'replace', signal })).toMatchObject({ profiles: 5 });
    await expect(attempt).rejects.toMatchObject({ problem: 'busy' });
    expect(await namesFor('next')).toHaveLength(5);
    expect(await other.importLeads({ input: leadInputOf(people(9)), mode: 'upsert', signal })).toMatchObject({
      added: 4,
      updated: 5,
    });
    await other.close();
  });

  it('leaves the former set and no table where the input fails', async () => {
    await take(people(20, { bio: 'former' }));
    const beforeBatch = (row: number): void => {
      if (row > 0) throw new Error('the file ends within a row');
    };
    const input = leadInputOf(people(30, { bio: 'next' }), { beforeBatch });
    await expect(keeper.importLeads({ input, mode: 'replace', signal })).rejects.toMatchObject({
      problem: 'failed',
      message: expect.stringContaining('the file ends within a row'),
    });
    expect(await namesFor('former')).toHaveLength(20);
    expect(await tables()).toEqual([await currentTable()]);
  });

  it('stops reading, and leaves the former set, where the server refuses a row', async () => {
    await take(people(20, { bio: 'former' }));
    let read = 0;
    const input = leadInputOf([buildLead({ username: 'not\0text' }), ...people(100_000)], {
      batchRows: 100,
      beforeBatch: async (row) => {
        read = row;
        await new Promise(setImmediate);
      },
    });
    await expect(keeper.importLeads({ input, mode: 'replace', signal })).rejects.toMatchObject({
      problem: 'failed',
      message: expect.stringContaining('invalid byte sequence'),
    });
    expect(read).toBeLessThan(100_000);
    expect(await namesFor('former')).toHaveLength(20);
    expect(await tables()).toEqual([await currentTable()]);
  });

  it.each<ImportPhase>(['reading', 'indexing'])('ends an import that is aborted while %s', async (phase) => {
    await take(people(20, { bio: 'former' }));
    const stopping = new AbortController();
    const reason = new Error('stopped by the operator');
    const importing = keeper.importLeads({
      mode: 'replace',
      signal: stopping.signal,
      input: leadInputOf(people(40, { bio: 'next' }), {
        beforeBatch: (row) => {
          if (phase === 'reading' && row > 0) stopping.abort(reason);
        },
      }),
      onProgress: (progress) => {
        if (progress.phase === phase && progress.done > 0) stopping.abort(reason);
      },
    });
    await expect(importing).rejects.toBe(reason);
    expect(await namesFor('former')).toHaveLength(20);
    expect(await tables()).toEqual([await currentTable()]);
    expect(await take(people(5))).toMatchObject({ updated: 5 });
  });

  it('cancels the statement that runs when an import is aborted', async () => {
    await take(people(20, { bio: 'former' }));
    const table = await currentTable();
    const stopping = new AbortController();
    // The count of known people waits for this lock.
    const locked = await profiles.lockTable(table);
    const importing = keeper.importLeads({
      mode: 'upsert',
      signal: stopping.signal,
      input: leadInputOf(people(40, { bio: 'next' })),
    });
    const outcome = importing.catch((error: unknown) => error);
    await locked.hasWaiter();
    const reason = new Error('stopped by the operator');
    stopping.abort(reason);
    expect(await outcome).toBe(reason);
    await locked.release();
    expect(await tables()).toEqual([table]);
  });

  it('ends with its connection, and the next import removes what it left', async () => {
    await take(people(20, { bio: 'former' }));
    const input = leadInputOf(people(40, { bio: 'next' }), {
      beforeBatch: async (row) => {
        if (row === 20)
          await profiles.sql(
            `select pg_terminate_backend(pid) from pg_locks join pg_class on pg_class.oid = relation
              where relnamespace = current_schema()::text::regnamespace and relname like '%\\_staged'`,
          );
      },
    });
    await expect(keeper.importLeads({ input, mode: 'replace', signal })).rejects.toMatchObject({
      problem: 'failed',
    });
    expect(await namesFor('former')).toHaveLength(20);
    expect(await tables()).toHaveLength(2);
    expect(await take(people(5))).toMatchObject({ updated: 5, profiles: 20 });
    expect(await tables()).toEqual([await currentTable()]);
  });

  it('has nobody in a new set who was forgotten in the last moment before the switch', async () => {
    let reads = 0;
    const late = await profiles.openKeeper({
      ...profiles.people,
      read: async () => {
        const forgotten = await profiles.people.read();
        reads += 1;
        // The second reading is the comparison before the switch, the third one is under the lock.
        if (reads === 2) await profiles.people.add(['user3']);
        return forgotten;
      },
    });
    expect(
      await late.importLeads({ input: leadInputOf(people(20, { bio: 'next' })), mode: 'replace', signal }),
    ).toMatchObject({ profiles: 19 });
    expect(reads).toBe(3);
    expect(await namesFor('next')).toHaveLength(19);
    expect(
      await profiles.sql('select 1 from lead_set, forgotten_revision where swept = revision'),
    ).toHaveLength(1);
    await late.close();
  });

  it('erases somebody from the new set who is forgotten during the switch', async () => {
    let reads = 0;
    let forgetting: Promise<{ removed: number }> | undefined;
    const late = await profiles.openKeeper({
      ...profiles.people,
      read: async () => {
        const forgotten = await profiles.people.read();
        reads += 1;
        if (reads === 3) forgetting = keeper.forget(['user3'], { signal });
        return forgotten;
      },
    });
    const input = leadInputOf(people(20, { bio: 'next' }));
    expect(await late.importLeads({ input, mode: 'replace', signal })).toMatchObject({ profiles: 20 });
    expect(await forgetting).toEqual({ removed: 1 });
    expect(await namesFor('next')).toHaveLength(19);
    await late.close();
  });

  it('needs no sweep after a deletion of any number of people', async () => {
    await take(people(30));
    const names = Array.from({ length: 5_000 }, (_, index) => `user${index}`);
    expect(await keeper.forget(names, { signal })).toEqual({ removed: 30 });
    expect(
      await profiles.sql('select 1 from lead_set, forgotten_revision where swept = revision'),
    ).toHaveLength(1);
  });

  it('indexes all profiles anew that another version of Unicode has folded', async () => {
    await take(people(30, { bio: 'former words' }));
    const name = await currentTable();
    await profiles.sql(`update lead_set set folding = 'older'`, `update ${name} set terms = '''other'''`);
    expect(await namesFor('former')).toEqual([]);
    const input = [...people(5, { bio: 'former and new' }), ...people(2, {}, 100), ...people(1)];
    expect(await take(input)).toEqual({
      rows: 8,
      added: 2,
      updated: 5,
      repeated: 1,
      forgotten: 0,
      removed: 0,
      profiles: 32,
    });
    expect(await namesFor('former')).toHaveLength(29);
    expect(await profiles.sql(`select 1 from lead_set where folding = 'older'`)).toEqual([]);
  });

  it('refuses changes where the store lacks the list that the profiles were compared with', async () => {
    await take(people(3));
    await profiles.sql(`update lead_set set list = 'another', swept = 0`);
    await expect(take(people(3))).rejects.toMatchObject({ problem: 'damaged' });
    await expect(keeper.sweep()).rejects.toMatchObject({ problem: 'damaged' });
  });

  it('exports the profiles of its beginning as a whole, also when other imports overtake it', async () => {
    await take(people(4_500));
    const exported = keeper.exportLeads({ signal })[Symbol.asyncIterator]();
    expect(await exported.next()).toMatchObject({ value: { username: 'user4499' } });
    await take(people(10, { bio: 'next' }), 'replace');
    const rest: string[] = [];
    for (let row = await exported.next(); row.done !== true; row = await exported.next())
      rest.push(row.value.username);
    expect(rest).toEqual(Array.from({ length: 4_499 }, (_, index) => `user${4_498 - index}`));
    await take(people(1));
    expect(await tables()).toEqual([await currentTable()]);
  });

  it('begins an export anew whose set is dropped under it', async () => {
    await take(people(3));
    const name = await currentTable();
    const locked = await profiles.lockTable(name);
    const exporting = Array.fromAsync(keeper.exportLeads({ signal }));
    await locked.hasWaiter();
    await locked.release(`alter table ${name} rename to other; update lead_set set name = 'other'`);
    expect(await exporting).toHaveLength(3);
  });

  it('tells the size, and that PostgreSQL is away', async () => {
    const empty = await keeper.stats();
    expect(empty).toEqual({
      profiles: 0,
      synthetic: false,
      forgotten: 0,
      bytes: 0,
      generation: null,
      updatedAt: null,
    });
    await take(people(30));
    const full = await keeper.stats();
    expect(full).toMatchObject({ profiles: 30, updatedAt: expect.any(Number) });
    expect(full.bytes).toBeGreaterThan(30_000);
    await profiles.sql('alter table lead_set rename to lead_set_away');
    await expect(keeper.stats()).rejects.toMatchObject({ problem: 'failed' });
    await expect(keeper.forget(['user1'], { signal })).rejects.toThrow('Run the command again');
    await profiles.sql('alter table lead_set_away rename to lead_set');
    expect(await namesFor('user1')).toContain('user1');
    await keeper.sweep();
    expect(await namesFor('user1')).not.toContain('user1');
    expect(await keeper.stats()).toMatchObject({ profiles: 29, forgotten: 1 });
  });
});
