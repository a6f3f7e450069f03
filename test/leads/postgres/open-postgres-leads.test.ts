import type { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LeadQuery, LeadSource } from '../../../src/leads/lead-source.ts';
import { startReadWorker } from '../../../src/leads/postgres/read/open-reader.ts';
import { partStatements } from '../../../src/leads/postgres/read/part-statements.ts';
import { dropSchema, onPostgres } from '../../store/open-test-store.ts';
import { buildLead } from '../build-lead.ts';
import { createLeadDatabase, importAll, noAbort, waitUntil, type LeadDatabase } from './lead-database.ts';
import { hasService, postgresUrl } from '../../outside-services.ts';

const limited = { connections: 1, searches: 2, searchTimeoutMs: 300, lookEveryMs: 20 };

describe.runIf(hasService('PostgreSQL'))('the source of leads in PostgreSQL', () => {
  let database: LeadDatabase;
  beforeEach(() => {
    database = createLeadDatabase();
  });
  afterEach(() => database.remove());

  const search = (source: LeadSource, query: Partial<LeadQuery> = {}) =>
    source.search({ query: 'some', limit: 10, ...query }, { signal: noAbort() });
  const openReady = async (options: Parameters<LeadDatabase['openLeads']>[0] = {}): Promise<LeadSource> => {
    const source = await database.openLeads(options);
    await waitUntil(() => source.status().ready);
    return source;
  };
  const unanswered = { code: 'upstream_error', status: 502, retryAfterSeconds: 1 };

  it('finds nobody before profiles were imported, and then those, in every gateway', async () => {
    const sources: LeadSource[] = [];
    for (let count = 0; count < 2; count += 1) {
      const source = await database.openLeads();
      sources.push(source);
      expect(source.status()).toEqual({ ready: false, synthetic: false, profiles: 0, revision: '' });
      await waitUntil(() => source.status().revision !== '');
      expect(source.status()).toMatchObject({ ready: true, profiles: 0 });
      expect(await search(source)).toEqual([]);
    }
    await importAll(await database.openKeeper(), [buildLead()]);
    for (const source of sources) {
      await waitUntil(() => source.status().profiles === 1);
      expect(source.status()).toMatchObject({ ready: true, synthetic: false });
      expect(await search(source)).toEqual([buildLead()]);
    }
  });

  it('answers from the newest profiles even before it has looked for changes', async () => {
    const keeper = await database.openKeeper();
    await importAll(keeper, [buildLead()]);
    const source = await openReady({ limits: { lookEveryMs: 60_000 } });
    const before = source.status().revision;
    await importAll(keeper, [buildLead({ bio: 'new' })], { mode: 'replace' });
    expect(await search(source)).toEqual([buildLead({ bio: 'new' })]);
    expect(source.status().revision).not.toBe(before);
  });

  it('refuses searches when the server is away, and answers again when it is back', async () => {
    await importAll(await database.openKeeper(), [buildLead()]);
    const url = `${postgresUrl}?application_name=${database.schema}`;
    const source = await openReady({ url });
    // As a restart of the server does, time and again until it was noticed.
    await waitUntil(async () => {
      await onPostgres((client) =>
        client.query('select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1', [
          database.schema,
        ]),
      );
      return search(source).then(
        () => false,
        (error: unknown) => {
          expect(error).toMatchObject(unanswered);
          return true;
        },
      );
    });
    await waitUntil(() => search(source).then(Boolean, () => false));
    expect(await search(source)).toEqual([buildLead()]);
  });

  it('is not ready and refuses at once when nothing listens at the address', async () => {
    const source = await database.openLeads({ url: 'postgres://postgres@127.0.0.1:1/test' });
    await expect(search(source)).rejects.toMatchObject(unanswered);
    expect(source.status().ready).toBe(false);
  });

  /** Runs `work` while searches wait, for a lock on the profiles. */
  const whileLocked = (work: () => Promise<void>): Promise<void> =>
    onPostgres(async (client) => {
      await client.query('begin');
      await client.query(`lock table ${database.schema}.blocks_2 in access exclusive mode`);
      await work();
      await client.query('rollback');
    });

  it('ends a search that takes too long, with 502, and answers the next ones', async () => {
    await importAll(await database.openKeeper(), [buildLead()]);
    const source = await openReady({ limits: limited });
    await whileLocked(async () => {
      await expect(search(source)).rejects.toMatchObject({
        ...unanswered,
        message: expect.stringMatching(/too long/),
      });
    });
    await waitUntil(() => search(source).then(Boolean, () => false));
    expect(await search(source)).toHaveLength(1);
  });

  it('answers an abort at once, and refuses searches when too many are under way', async () => {
    await importAll(await database.openKeeper(), [buildLead()]);
    const source = await openReady({ limits: limited });
    await whileLocked(async () => {
      const aborting = new AbortController();
      const query = { query: 'some', limit: 10 };
      const aborted = [1, 2].map(() =>
        source.search(query, { signal: aborting.signal }).catch((error: unknown) => error),
      );
      await expect(search(source)).rejects.toMatchObject({
        ...unanswered,
        message: expect.stringMatching(/Too many/),
      });
      aborting.abort(new Error('gone home'));
      for (const outcome of aborted) expect(await outcome).toEqual(new Error('gone home'));
    });
  });

  it('ends the statement of a search that nobody waits for any more', async () => {
    await importAll(await database.openKeeper(), [buildLead()]);
    const url = `${postgresUrl}?application_name=${database.schema}`;
    const source = await openReady({ url, limits: { searchTimeoutMs: 60_000 } });
    const waitingForLocks = (): Promise<number> =>
      onPostgres(async (client) => {
        const { rows } = await client.query(
          `select 1 from pg_stat_activity where application_name = $1 and wait_event_type = 'Lock'`,
          [database.schema],
        );
        return rows.length;
      });
    await whileLocked(async () => {
      const aborting = new AbortController();
      const query = { query: 'some', limit: 10 };
      const aborted = source.search(query, { signal: aborting.signal }).catch((error: unknown) => error);
      await waitUntil(async () => (await waitingForLocks()) === 1);
      aborting.abort(new Error('gone home'));
      expect(await aborted).toEqual(new Error('gone home'));
      await waitUntil(async () => (await waitingForLocks()) === 0);
    });
    expect(await search(source)).toHaveLength(1);
  });

  it('replaces its thread when that is lost, and answers as before', async () => {
    await importAll(await database.openKeeper(), [buildLead()]);
    const threads: Worker[] = [];
    const source = await openReady({
      limits: { firstRetryMs: 1 },
      startReadWorker: (workerData) => {
        const thread = startReadWorker(workerData);
        threads.push(thread);
        return thread;
      },
    });
    const { revision } = source.status();
    await threads[0]?.terminate();
    expect(source.status()).toMatchObject({ ready: false, profiles: 1, revision });
    await expect(search(source)).rejects.toMatchObject(unanswered);
    await waitUntil(() => source.status().ready);
    expect(threads).toHaveLength(2);
    expect(await search(source)).toEqual([buildLead()]);
  });

  it('gives up and comes back when its tables were removed and made again', async () => {
    await importAll(await database.openKeeper(), [buildLead()]);
    const source = await openReady();
    await dropSchema(database.schema);
    await expect(search(source)).rejects.toMatchObject(unanswered);
    await importAll(await database.openKeeper(), [buildLead({ bio: 'again' })]);
    await waitUntil(() => search(source).then(Boolean, () => false));
    expect(await search(source)).toEqual([buildLead({ bio: 'again' })]);
  });

  it('answers from the profiles there are after a backup was put back and others were imported', async () => {
    const keeper = await database.openKeeper();
    await importAll(keeper, [buildLead({ bio: 'coffee' })], { mode: 'replace' });
    const inSchema = (sql: string, values: unknown[] = []) =>
      onPostgres(async (client) => {
        await client.query(`set search_path = ${database.schema}`);
        return client.query(sql, values);
      });
    const backup = await inSchema('select revision, generation, last_value from state, parts_id_seq');
    await importAll(keeper, [buildLead({ bio: 'tea' })], { mode: 'replace' });
    const source = await openReady({ limits: { lookEveryMs: 60_000 } });
    expect(await search(source, { query: 'tea' })).toHaveLength(1);

    const { revision, generation, last_value: lastPart } = backup.rows[0] ?? {};
    for (const table of ['profiles', 'blocks'])
      await inSchema(`create table ${table}_2 (like ${table}_3 including all)`);
    await inSchema('update state set revision = $1, generation = $2', [revision, generation]);
    await inSchema('delete from parts');
    await inSchema(`select setval('parts_id_seq', $1)`, [lastPart]);
    await importAll(keeper, [buildLead({ bio: 'milk' })], { mode: 'replace' });
    expect(await search(source, { query: 'tea' })).toEqual([]);
    expect(await search(source, { query: 'milk' })).toHaveLength(1);
  });

  it('refuses what cannot be the name of a schema', async () => {
    await expect(database.openLeads({ schema: 'public; drop table x' })).rejects.toThrow(/name of a schema/);
  });

  it('reads rows by their keys alone, whatever the sizes of tables', async () => {
    await importAll(await database.openKeeper(), [buildLead()]);
    const { sizes, blocks, leads } = partStatements(2);
    const explained = await onPostgres(async (client) => {
      // A table of one row is read from end to end otherwise.
      await client.query(`set search_path = ${database.schema}; set enable_seqscan = off`);
      await client.query('set plan_cache_mode = force_generic_plan');
      const plans: string[] = [];
      for (const [{ text }, values] of [
        [sizes, `'{1,2}', '{a,b}'`],
        [blocks, `'{1,2}', '{a,b}'`],
        [leads, `'{1,2}', '{1,2}'`],
      ] as const) {
        await client.query(`prepare asked as ${text}`);
        const { rows } = await client.query(`explain execute asked(${values})`);
        await client.query('deallocate asked');
        plans.push(rows.map((row) => String(row['QUERY PLAN'])).join('\n'));
      }
      return plans;
    });
    for (const plan of explained) {
      expect(plan).toMatch(/Limit[^\n]*\n\s+->\s+Index Scan (?:Backward )?using (?:blocks|profiles)_2_pkey/);
      expect(plan).toMatch(/Index Cond: \(\(part = (?:part\.id|wanted\.part)\) AND/);
      expect(plan).not.toMatch(/Seq Scan on (?:blocks|profiles)/);
    }
  });
});
