import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { LeadIndex } from '../../../src/leads/lead-index.ts';
import { compareLeads } from '../../../src/leads/query/lead-filters.ts';
import { readManifest, writeManifest } from '../../../src/leads/sqlite/profiles-folder.ts';
import { openSqliteIndex } from '../../../src/leads/sqlite/open-sqlite-index.ts';
import { generateLeads } from '../../../src/leads/synthetic/generate-leads.ts';
import { buildLead } from '../build-lead.ts';
import { leadInputOf } from '../lead-input-of.ts';
import { createSqliteProfiles, type SqliteProfiles } from './create-sqlite-profiles.ts';

const { signal } = new AbortController();
const leads = [...generateLeads({ seed: 3, profiles: 300 })];

let made: SqliteProfiles;
let folder: string;
beforeEach(async () => {
  made = await createSqliteProfiles();
  ({ folder } = made);
});
afterEach(() => made.remove());

const open = (): Promise<LeadIndex> => made.openKeeper();

const filesLike = (pattern: RegExp): string[] => readdirSync(folder).filter((name) => pattern.test(name));
const inFile = (sql: string): void => {
  const database = new DatabaseSync(made.file());
  database.exec(sql);
  database.close();
};

describe('the keeper of an empty folder', () => {
  it('reports that it has no profiles', async () => {
    expect(await made.exported()).toEqual([]);
    expect(await made.stats()).toEqual({
      profiles: 0,
      synthetic: false,
      forgotten: 0,
      bytes: 0,
      updatedAt: null,
      generation: null,
    });
    expect(readdirSync(folder)).toEqual([]);
  });

  it('imports profiles in any order, and exports them in result order', async () => {
    expect(await made.take(leads.toReversed())).toEqual({
      rows: 300,
      added: 300,
      updated: 0,
      repeated: 0,
      forgotten: 0,
      removed: 0,
      profiles: 300,
    });
    expect(await made.exported()).toEqual(leads.toSorted(compareLeads));
    const { bytes, updatedAt } = await made.stats();
    expect(bytes).toBeGreaterThan(statSync(made.file()).size);
    expect(updatedAt).toBeGreaterThan(Date.now() - 60_000);
  });

  it('leaves no files when an import is stopped while it indexes', async () => {
    const leaving = new AbortController();
    const keeper = await open();
    const importing = keeper.importLeads({
      mode: 'upsert',
      input: leadInputOf(leads),
      signal: leaving.signal,
      onProgress: ({ phase }) => {
        if (phase === 'indexing') leaving.abort(new Error('stopped by the operator'));
      },
    });
    await expect(importing).rejects.toThrow('stopped by the operator');
    expect(readdirSync(folder)).toEqual(['keeper.lock']);
    expect(await made.take(leads)).toMatchObject({ added: leads.length });
  });

  it('is created if it is missing, above it too', async () => {
    const below = join(folder, 'a', 'b');
    const keeper = await openSqliteIndex({ folder: below, people: made.people });
    const outcome = await keeper.importLeads({ input: leadInputOf(leads), mode: 'upsert', signal });
    expect([outcome.profiles, readManifest(below)?.profiles]).toEqual([300, 300]);
  });
});

describe('an import', () => {
  it('takes rows in many batches, of many people and of one person with many rows', async () => {
    const again = Array.from({ length: 400 }, (_, index) =>
      buildLead({ username: index % 2 === 0 ? 'Again' : 'again', followers: index }),
    );
    const rows = leads.flatMap((lead, index) => [lead, ...again.slice(index, index + 2)]);
    expect(await made.take(rows)).toMatchObject({ rows: 900, added: 301, repeated: 599 });
    expect(await made.exported()).toEqual([...leads, again[300]!].sort(compareLeads));
  });

  it('ignores an input without rows, even if it would replace everything', async () => {
    await made.take(leads);
    expect(await made.take([], { mode: 'replace' })).toMatchObject({ rows: 0, profiles: 300 });
    expect(await made.exported()).toHaveLength(300);
  });

  it('leaves one file', async () => {
    await made.take(leads);
    await made.take(leads.slice(0, 7));
    await made.take(leads.slice(0, 5), { mode: 'replace' });
    expect(new Set(readdirSync(folder))).toEqual(
      new Set(['current.json', 'keeper.lock', readManifest(folder)?.file]),
    );
  });

  it('indexes all profiles anew when another version of Unicode folded them', async () => {
    await made.take(leads);
    await writeManifest(folder, { ...readManifest(folder)!, folding: '1.0' });
    inFile(`INSERT INTO words (words) VALUES ('delete-all')`);
    expect(await made.take([buildLead({ bio: 'zanzibar' })])).toMatchObject({ added: 1, profiles: 301 });
    const [all, one] = await made.search([
      { query: leads[0]!.username, limit: 1 },
      { query: 'zanzibar', limit: 1 },
    ]);
    expect([all, one]).toMatchObject([[leads[0]], [{ bio: 'zanzibar' }]]);
    expect(await made.take(leads.slice(0, 3))).toMatchObject({ updated: 3, profiles: 301 });
  });

  it('is refused during another import, which continues', async () => {
    const refusals: unknown[] = [];
    const outcome = await made.take(leads, {
      input: {
        beforeBatch: async (row) => {
          if (row === 0) await made.take(leads).catch((error: unknown) => refusals.push(error));
        },
      },
    });
    expect(refusals).toMatchObject([{ problem: 'busy' }]);
    expect(outcome.profiles).toBe(300);
  });

  it('passes on the error of its input, and changes nothing', async () => {
    await made.take(leads.slice(0, 10));
    const beforeBatch = (rows: number): void => {
      if (rows >= 200) throw new Error('the file ends in the middle of a row');
    };
    await expect(made.take(leads, { input: { beforeBatch } })).rejects.toThrow('middle of a row');
    expect(await made.exported()).toHaveLength(10);
    expect(filesLike(/^next-/)).toEqual([]);
  });

  it('removes the files of a killed import', async () => {
    await made.take(leads);
    for (const name of ['profiles-0123.db', 'next-0123.db', 'next-0123.db-journal'])
      writeFileSync(join(folder, name), 'half written');
    await made.take([buildLead()]);
    expect(filesLike(/0123/)).toEqual([]);
    expect(await made.exported()).toHaveLength(301);
  });

  it('keeps profiles that no manifest names until there are others', async () => {
    await made.take(leads);
    const file = made.file();
    rmSync(join(folder, 'current.json'));
    await made.take([]);
    await expect(
      made.take(leads, { input: { beforeBatch: () => Promise.reject(new Error('broken')) } }),
    ).rejects.toThrow('broken');
    expect(statSync(file).size).toBeGreaterThan(0);
  });

  it('finds former and new profiles while it runs, each search one of them', async () => {
    await made.take(leads.slice(0, 100));
    const seen = new Set<number>();
    const look = async (): Promise<void> => {
      const [found] = await made.search([{ limit: 500 }]);
      seen.add(found?.length ?? 0);
    };
    await made.take(leads, { input: { beforeBatch: look }, onProgress: () => void look() });
    await look();
    expect([...seen]).toEqual([100, 300]);
  });

  it('replaces fictional profiles, of which it exports none', async () => {
    await made.take(leads.slice(0, 10));
    await writeManifest(folder, { ...readManifest(folder)!, fictional: 'generated', list: '', swept: 0 });
    expect(await made.stats()).toMatchObject({ profiles: 10, synthetic: true, updatedAt: null });
    expect(await made.exported()).toEqual([]);
    expect(await (await open()).forget(['anna'], { signal })).toEqual({ removed: 0 });
    expect(await made.take(leads.slice(5, 20))).toMatchObject({ added: 15, updated: 0, profiles: 15 });
    expect(await made.stats()).toMatchObject({ profiles: 15, synthetic: false });
  });

  it('is refused over profiles of an earlier version, but replaces them', async () => {
    await open();
    writeFileSync(join(folder, 'current.json'), '{"format":1,"synthetic":false}');
    for (const work of [() => made.take(leads), made.exported, made.stats])
      await expect(work()).rejects.toMatchObject({
        problem: 'damaged',
        message: expect.stringMatching(
          /of another version, which can export them\. .*import all profiles again/,
        ),
      });
    expect(await made.take(leads, { mode: 'replace' })).toMatchObject({ profiles: leads.length });
  });
});

describe('a keeper whose folder cannot be used', () => {
  it.each<{ what: string; at: () => string; says: RegExp }>([
    {
      what: 'is below a file',
      at: () => join(folder, 'file/leads'),
      says: /\/leads cannot be used: a part of its path is not a folder\.$/,
    },
    { what: 'is a file', at: () => join(folder, 'file'), says: /file cannot be used: it is not a folder\.$/ },
  ])('says so where it $what', async ({ at, says }) => {
    mkdirSync(folder);
    writeFileSync(join(folder, 'file'), '');
    await expect(openSqliteIndex({ folder: at(), people: made.people })).rejects.toMatchObject({
      problem: 'failed',
      message: expect.stringMatching(says),
    });
  });

  it('refuses imports where the lock cannot be taken', async () => {
    mkdirSync(join(folder, 'keeper.lock'), { recursive: true });
    await expect(made.take(leads)).rejects.toMatchObject({ problem: 'failed' });
  });

  it('puts people on the list, and says that their profiles are not erased', async () => {
    await made.take(leads);
    rmSync(join(folder, 'keeper.lock'));
    mkdirSync(join(folder, 'keeper.lock'));
    const forgetting = (await open()).forget([leads[0]!.username], { signal });
    await expect(forgetting).rejects.toMatchObject({
      problem: 'failed',
      message: expect.stringContaining('Searches no longer find these people'),
    });
    expect(await made.people.count()).toBe(1);
  });

  it.skipIf(process.getuid?.() === 0)('names the user who may not write there', async () => {
    await made.take(leads);
    rmSync(join(folder, 'keeper.lock'));
    chmodSync(folder, 0o500);
    try {
      await expect(made.take(leads)).rejects.toThrow(/the user \S+ may not read and write all of it/);
      expect(await made.stats()).toMatchObject({ profiles: 300 });
    } finally {
      chmodSync(folder, 0o700);
    }
  });
});

describe('a keeper of damaged profiles', () => {
  const damagedOnes: [string, () => void][] = [
    ['the file is cut off', () => truncateSync(made.file(), 9_000)],
    ['the file is empty', () => truncateSync(made.file(), 0)],
    ['the file is something else', () => writeFileSync(made.file(), 'not a database'.repeat(1_000))],
    ['the file is missing', () => rmSync(made.file())],
    ['the manifest is cut off', () => truncateSync(join(folder, 'current.json'), 20)],
    ['the manifest is empty', () => truncateSync(join(folder, 'current.json'), 0)],
    ['the manifest is of a later version', () => writeFileSync(join(folder, 'current.json'), '{"format":9}')],
  ];
  it.each(damagedOnes)('refuses to add to them, and accepts a replacement (%s)', async (_, harm) => {
    await made.take(leads);
    harm();
    await expect(made.take([buildLead()])).rejects.toMatchObject({ problem: 'damaged' });
    await expect(made.exported()).rejects.toMatchObject({ problem: 'damaged' });
    expect(await made.take(leads.slice(0, 7), { mode: 'replace' })).toMatchObject({ profiles: 7 });
    expect(await made.exported()).toHaveLength(7);
    expect(filesLike(/^profiles-/)).toHaveLength(1);
  });

  it('keeps what is left of them until the replacement is whole', async () => {
    await made.take(leads);
    const [file] = filesLike(/^profiles-/);
    truncateSync(join(folder, 'current.json'), 20);
    const beforeBatch = (row: number): void => {
      if (row > 100) throw new Error('broken');
    };
    await expect(made.take(leads, { mode: 'replace', input: { beforeBatch } })).rejects.toThrow('broken');
    expect(filesLike(/^profiles-/)).toEqual([file]);
  });

  it('puts people on the list even so, and leaves them out when the file is back', async () => {
    await made.take(leads);
    const file = made.file();
    const good = readFileSync(file);
    truncateSync(file, 9_000);
    const [{ username } = buildLead()] = leads;
    await expect((await open()).forget([username], { signal })).rejects.toMatchObject({
      problem: 'damaged',
      message: expect.stringContaining('Searches no longer find these people'),
    });
    writeFileSync(file, good);
    expect(await made.take([buildLead({ username: 'another' })])).toMatchObject({ profiles: 300 });
    expect((await made.exported()).map((lead) => lead.username)).not.toContain(username);
  });

  it('does not change profiles that were compared with a list which the store does not have', async () => {
    await made.take(leads);
    const manifest = readFileSync(join(folder, 'current.json'));
    const other = await createSqliteProfiles();
    onTestFinished(() => other.remove());
    const keeper = await openSqliteIndex({ folder, people: other.people });
    const refused = {
      problem: 'damaged',
      message: expect.stringContaining('Restore the store and the profiles from one backup'),
    };
    for (const mode of ['upsert', 'replace'] as const)
      await expect(keeper.importLeads({ input: leadInputOf(leads), mode, signal })).rejects.toMatchObject(
        refused,
      );
    await expect(keeper.sweep()).rejects.toMatchObject(refused);
    expect(readFileSync(join(folder, 'current.json'))).toEqual(manifest);
  });
});

describe('the statistics', () => {
  it('are right while files come and go', async () => {
    await made.take(leads);
    const deep = join(folder, 'deep/er');
    const isOver = { now: false };
    const changing = (async () => {
      while (!isOver.now) {
        await mkdir(deep, { recursive: true });
        await rm(dirname(deep), { recursive: true });
      }
    })();
    for (let time = 0; time < 300; time += 1) expect(await made.stats()).toMatchObject({ profiles: 300 });
    isOver.now = true;
    await changing;
  });
});
