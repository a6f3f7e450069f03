import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  openSync,
  closeSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  watch,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openSqliteLeads, type SqliteLeadsOptions } from '../../../src/leads/sqlite/open-sqlite-leads.ts';
import type { LeadSource } from '../../../src/leads/lead-source.ts';
import { createReferenceSearch } from '../reference-search.ts';
import { generateLeads } from '../../../src/leads/synthetic/generate-leads.ts';
import { whenReady } from './when-ready.ts';

const signal = new AbortController().signal;
const profiles = 400;
const reference = createReferenceSearch([...generateLeads({ seed: 1, profiles })]);

let folder: string;
let data: string;
let lines: { msg: string; level: number; reason?: string }[];
let open: LeadSource[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leads-'));
  data = join(folder, 'data', 'leads');
  lines = [];
  open = [];
});
afterEach(async () => {
  await Promise.all(open.map((leads) => leads.close()));
  await rm(folder, { recursive: true });
});

const unread = async (): Promise<never> => {
  throw new Error('fictional profiles need no list of forgotten people');
};

const start = async (options: Partial<SqliteLeadsOptions> = {}): Promise<LeadSource> => {
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const leads = await openSqliteLeads({
    folder: data,
    fictional: { seed: 1, profiles },
    people: { read: unread },
    sweep: unread,
    log,
    ...options,
  });
  open.push(leads);
  return leads;
};

const startReady = async (options: Partial<SqliteLeadsOptions> = {}): Promise<LeadSource> => {
  const leads = await start(options);
  await whenReady(leads);
  return leads;
};

const expectAnswersAsReference = async (leads: LeadSource): Promise<void> => {
  for (const query of [
    { limit: 100 },
    { query: 'style', limit: 20 },
    { query: 'yoga', country: 'US', limit: 5 },
  ]) {
    expect(await leads.search(query, { signal })).toEqual(reference(query));
  }
};

/** Another process that starts to build an index and does not get far before a test ends it. */
const startBigBuild = () => {
  const module = (path: string): string =>
    JSON.stringify(new URL(`../../../src/${path}`, import.meta.url).href);
  const code = `import { openSqliteLeads } from ${module('leads/sqlite/open-sqlite-leads.ts')};
    import { silentLog } from ${module('kit/log.ts')};
    await openSqliteLeads({
      folder: ${JSON.stringify(data)}, fictional: { seed: 1, profiles: 1_000_000 }, people: {}, log: silentLog,
    });`;
  const script = join(folder, 'start.mjs');
  writeFileSync(script, code);
  return spawn(process.execPath, [script]);
};

const logged = (message: string) => lines.filter(({ msg }) => msg.includes(message));
const filesLike = (part: string): string[] => readdirSync(data).filter((name) => name.includes(part));
const leftOvers = (): string[] => filesLike('building');
const baseFile = (): string => join(data, filesLike('fictional-')[0]!);

describe('the leads of SQLite at their first start', () => {
  it('open before there is an index, refuse searches with a clear message, and answer them once it is built', async () => {
    const leads = await start();
    expect(leads.status()).toEqual({ ready: false, synthetic: true, profiles: 0, revision: 'none' });
    await expect(leads.search({ limit: 1 }, { signal })).rejects.toMatchObject({
      code: 'upstream_error',
      status: 502,
      retryAfterSeconds: 5,
    });
    await whenReady(leads);
    expect(leads.status()).toMatchObject({ ready: true, synthetic: true, profiles });
    await expectAnswersAsReference(leads);
    expect(leftOvers()).toEqual([]);
  });

  it('let a search wait for the index if configured, until its caller leaves', async () => {
    const leads = await start({ readyWaitMs: 30_000 });
    const leaving = new AbortController();
    const left = leads.search({ limit: 1 }, { signal: leaving.signal });
    const waited = leads.search({ limit: 1 }, { signal });
    leaving.abort(new Error('the caller has gone'));
    await expect(left).rejects.toThrow('the caller has gone');
    expect(await waited).toHaveLength(1);
  });

  it('build and search 5,000 profiles', async () => {
    const fictional = { seed: 4, profiles: 5_000 };
    const leads = await startReady({ fictional });
    const expected = createReferenceSearch([...generateLeads(fictional)]);
    for (const query of [
      { query: 'yoga', limit: 50 },
      { category: 'Travel', gender: 'female' as const, limit: 100 },
    ]) {
      expect(await leads.search(query, { signal })).toEqual(expected(query));
    }
  });

  it('can be closed during a build, and leave no unfinished files', async () => {
    const leads = await start({ fictional: { seed: 1, profiles: 1_000_000 }, readyWaitMs: 60_000 });
    const search = () => leads.search({ limit: 1 }, { signal });
    const watcher = watch(data);
    await once(watcher, 'change');
    watcher.close();
    const [waiting] = await Promise.allSettled([search(), leads.close()]);
    expect(waiting).toMatchObject({ status: 'rejected', reason: { code: 'shutting_down' } });
    await expect(search()).rejects.toMatchObject({ code: 'shutting_down' });
    expect(readdirSync(data)).toEqual([]);
  });

  it('leave no index when killed during a build, and build it at the next start', async () => {
    mkdirSync(data, { recursive: true });
    const watcher = watch(data);
    const child = startBigBuild();
    await Promise.race([once(watcher, 'change'), once(child, 'exit')]);
    watcher.close();
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(filesLike('current')).toEqual([]);
    expect(leftOvers().length).toBeGreaterThan(0);

    for (const name of leftOvers()) age(join(data, name));
    await expectAnswersAsReference(await startReady());
    expect(leftOvers()).toEqual([]);
  });
});

describe('the leads of SQLite with an index in place', () => {
  it('serve it without building', async () => {
    await (await startReady()).close();
    const written = statSync(baseFile()).mtimeMs;
    await expectAnswersAsReference(await startReady());
    expect(statSync(baseFile()).mtimeMs).toBe(written);
    expect(logged('index built')).toHaveLength(1);
  });

  const harm: Record<string, (file: string) => void> = {
    'is cut off': (file) => truncateSync(file, Math.floor(statSync(file).size / 2)),
    'is empty': (file) => truncateSync(file, 0),
    'has a wrong header': (file) => overwrite(file, { at: 0, length: 64 }),
    'is something else': (file) => writeFileSync(file, 'not an index'),
    'is missing': (file) => rmSync(file),
  };
  it.each(Object.keys(harm))('rebuild it and log a line when it %s', async (name) => {
    await (await startReady()).close();
    harm[name]!(baseFile());
    await expectAnswersAsReference(await startReady());
    expect(logged('is unusable')).toMatchObject([{ level: 40, reason: expect.stringContaining('damaged') }]);
    expect(logged('index built')).toHaveLength(2);
  });

  it.each([
    ['is cut off', '{ "format": 3, "file": "fict'],
    ['is empty', ''],
    ['lacks a value', '{ "format": 3 }'],
  ])('rebuild it and log a line when the manifest of fictional profiles alone %s', async (_, text) => {
    await (await startReady()).close();
    writeFileSync(join(data, 'current.json'), text);
    await expectAnswersAsReference(await startReady());
    expect(logged('is unusable')).toMatchObject([{ level: 40, reason: 'it is damaged' }]);
    expect(logged('index built')).toHaveLength(2);
    expect(filesLike('fictional-')).toHaveLength(1);
  });

  it.each([
    ['of real profiles', 'profiles-0123.db'],
    ['of an earlier version', 'base-481f8ee105ac2260.db'],
  ])('wait where a damaged manifest may have named a file %s', async (_, file) => {
    await (await startReady()).close();
    writeFileSync(join(data, 'current.json'), '{');
    writeFileSync(join(data, file), 'of a backup');
    const leads = await start();
    await expect.poll(() => logged('there are no profiles to search')).toMatchObject([{ level: 50 }]);
    await expect(leads.search({ limit: 1 }, { signal })).rejects.toMatchObject({ code: 'upstream_error' });
    expect(logged('is unusable')).toEqual([]);
    expect(readdirSync(data)).toContain(file);
  });

  it('rebuild it for another number or seed of profiles', async () => {
    await (await startReady({ fictional: { seed: 1, profiles: 100 } })).close();
    await (await startReady({ fictional: { seed: 2, profiles } })).close();
    await expectAnswersAsReference(await startReady());
    expect(logged('is unusable')).toMatchObject([{ reason: expect.stringContaining('another set') }, {}]);
  });

  it('stop serving it and rebuild it when it proves damaged', async () => {
    const leads = await startReady();
    overwrite(baseFile(), { at: 0, length: statSync(baseFile()).size });
    await expect(leads.search({ limit: 100 }, { signal })).rejects.toMatchObject({ code: 'upstream_error' });
    expect(leads.status().ready).toBe(false);
    await whenReady(leads);
    await expectAnswersAsReference(leads);
    expect(logged('is damaged').length).toBeGreaterThan(0);
    expect(logged('is unusable')).toMatchObject([{ reason: 'it is damaged' }]);
  });

  it('refuse a search that takes longer than two seconds, and replace its thread', async () => {
    const leads = await startReady();
    // Each row of this table takes long to find.
    const database = new DatabaseSync(baseFile());
    database.exec(`ALTER TABLE people RENAME TO quick;
      CREATE VIEW people AS SELECT id, key, username, lead, import FROM quick WHERE id + (
        WITH RECURSIVE n (i) AS (SELECT id % 2 UNION ALL SELECT i + 1 FROM n WHERE i < 400000) SELECT max(i) FROM n) > 0`);
    database.close();
    const slow = { limit: 60 };
    const searches = await Promise.allSettled([1, 2, 3].map(() => leads.search(slow, { signal })));
    for (const search of searches)
      expect(search).toMatchObject({
        status: 'rejected',
        reason: { code: 'upstream_error', status: 502, message: expect.stringContaining('took too long') },
      });
    const again = new DatabaseSync(baseFile(), { timeout: 240_000 });
    again.exec('DROP VIEW people; ALTER TABLE quick RENAME TO people');
    again.close();
    await expectAnswersAsReference(leads);
    expect(logged('is damaged')).toEqual([]);
  });

  it('reject an aborted search', async () => {
    const leads = await startReady();
    await expect(
      leads.search({ limit: 1 }, { signal: AbortSignal.abort(new Error('gone')) }),
    ).rejects.toThrow('gone');
    const abort = new AbortController();
    const search = leads.search({ limit: 1 }, { signal: abort.signal });
    abort.abort(new Error('went away'));
    await expect(search).rejects.toThrow('went away');
    await expectAnswersAsReference(leads);
  });

  it('answer many concurrent searches, each with its own results', async () => {
    const leads = await startReady();
    const limits = Array.from({ length: 60 }, (_, index) => index + 1);
    const answers = await Promise.all(limits.map((limit) => leads.search({ limit }, { signal })));
    expect(answers.map(({ length }) => length)).toEqual(limits);
  });

  it('refuse searches after they are closed', async () => {
    const leads = await startReady();
    await leads.close();
    await expect(leads.search({ limit: 1 }, { signal })).rejects.toMatchObject({ code: 'upstream_error' });
  });
});

/** Makes a file look as if nobody had written to it for long. */
const age = (path: string): void => {
  const longAgo = new Date(Date.now() - 120_000);
  utimesSync(path, longAgo, longAgo);
};

const overwrite = (path: string, { at, length }: { at: number; length: number }): void => {
  const original = readFileSync(path).subarray(at, at + length);
  const descriptor = openSync(path, 'r+');
  writeSync(
    descriptor,
    original.map((byte) => byte ^ 0xff),
    0,
    length,
    at,
  );
  closeSync(descriptor);
};
