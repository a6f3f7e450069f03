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
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { ForgottenPeople } from '../../../src/leads/forgotten-people.ts';
import type { ImportOutcome, ImportRequest, LeadIndex } from '../../../src/leads/lead-index.ts';
import type { Lead } from '../../../src/leads/lead-source.ts';
import { compareLeads } from '../../../src/leads/query/lead-filters.ts';
import type { DiskRoom } from '../../../src/leads/sqlite/disk-room.ts';
import { lockProfiles, readManifest, writeManifest } from '../../../src/leads/sqlite/profiles-folder.ts';
import { openSqliteIndex } from '../../../src/leads/sqlite/open-sqlite-index.ts';
import { generateLeads } from '../../../src/leads/synthetic/generate-leads.ts';
import { buildLead } from '../build-lead.ts';
import { leadInputOf, type LeadInputOptions } from '../lead-input-of.ts';
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

const take = async (
  given: readonly Lead[],
  { mode = 'upsert', ...rest }: Partial<Omit<ImportRequest, 'input'>> & { input?: LeadInputOptions } = {},
): Promise<ImportOutcome> => {
  const keeper = await open();
  return keeper.importLeads({ signal, mode, ...rest, input: leadInputOf(given, rest.input) });
};

const exported = async (): Promise<Lead[]> => Array.fromAsync((await open()).exportLeads({ signal }));
const stats = async () => (await open()).stats();
const filesLike = (pattern: RegExp): string[] => readdirSync(folder).filter((name) => pattern.test(name));
const profileFile = (): string => join(folder, readManifest(folder)?.file ?? '');
const inFile = (sql: string): void => {
  const database = new DatabaseSync(profileFile());
  database.exec(sql);
  database.close();
};

describe('the keeper of an empty folder', () => {
  it('reports that it has no profiles', async () => {
    expect(await exported()).toEqual([]);
    expect(await stats()).toEqual({
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
    expect(await take(leads.toReversed())).toEqual({
      rows: 300,
      added: 300,
      updated: 0,
      repeated: 0,
      forgotten: 0,
      removed: 0,
      profiles: 300,
    });
    expect(await exported()).toEqual(leads.toSorted(compareLeads));
    const { bytes, updatedAt } = await stats();
    expect(bytes).toBeGreaterThan(statSync(profileFile()).size);
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
    expect(await take(leads)).toMatchObject({ added: leads.length });
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
    expect(await take(rows)).toMatchObject({ rows: 900, added: 301, repeated: 599 });
    expect(await exported()).toEqual([...leads, again[300]!].sort(compareLeads));
  });

  it('ignores an input without rows, even if it would replace everything', async () => {
    await take(leads);
    expect(await take([], { mode: 'replace' })).toMatchObject({ rows: 0, profiles: 300 });
    expect(await exported()).toHaveLength(300);
  });

  it('leaves one file', async () => {
    await take(leads);
    await take(leads.slice(0, 7));
    await take(leads.slice(0, 5), { mode: 'replace' });
    expect(new Set(readdirSync(folder))).toEqual(
      new Set(['current.json', 'keeper.lock', readManifest(folder)?.file]),
    );
  });

  it('indexes all profiles anew when another version of Unicode folded them', async () => {
    await take(leads);
    await writeManifest(folder, { ...readManifest(folder)!, folding: '1.0' });
    inFile(`INSERT INTO words (words) VALUES ('delete-all')`);
    expect(await take([buildLead({ bio: 'zanzibar' })])).toMatchObject({ added: 1, profiles: 301 });
    const [all, one] = await made.search([
      { query: leads[0]!.username, limit: 1 },
      { query: 'zanzibar', limit: 1 },
    ]);
    expect([all, one]).toMatchObject([[leads[0]], [{ bio: 'zanzibar' }]]);
    expect(await take(leads.slice(0, 3))).toMatchObject({ updated: 3, profiles: 301 });
  });

  it('is refused during another import, which continues', async () => {
    const refusals: unknown[] = [];
    const outcome = await take(leads, {
      input: {
        beforeBatch: async (row) => {
          if (row === 0) await take(leads).catch((error: unknown) => refusals.push(error));
        },
      },
    });
    expect(refusals).toMatchObject([{ problem: 'busy' }]);
    expect(outcome.profiles).toBe(300);
  });

  it('passes on the error of its input, and changes nothing', async () => {
    await take(leads.slice(0, 10));
    const beforeBatch = (rows: number): void => {
      if (rows >= 200) throw new Error('the file ends in the middle of a row');
    };
    await expect(take(leads, { input: { beforeBatch } })).rejects.toThrow('middle of a row');
    expect(await exported()).toHaveLength(10);
    expect(filesLike(/^next-/)).toEqual([]);
  });

  it('removes the files of a killed import', async () => {
    await take(leads);
    for (const name of ['profiles-0123.db', 'next-0123.db', 'next-0123.db-journal'])
      writeFileSync(join(folder, name), 'half written');
    await take([buildLead()]);
    expect(filesLike(/0123/)).toEqual([]);
    expect(await exported()).toHaveLength(301);
  });

  it('keeps profiles that no manifest names until there are others', async () => {
    await take(leads);
    const file = profileFile();
    rmSync(join(folder, 'current.json'));
    await take([]);
    await expect(
      take(leads, { input: { beforeBatch: () => Promise.reject(new Error('broken')) } }),
    ).rejects.toThrow('broken');
    expect(statSync(file).size).toBeGreaterThan(0);
  });

  it('finds former and new profiles while it runs, each search one of them', async () => {
    await take(leads.slice(0, 100));
    const seen = new Set<number>();
    const look = async (): Promise<void> => {
      const [found] = await made.search([{ limit: 500 }]);
      seen.add(found?.length ?? 0);
    };
    await take(leads, { input: { beforeBatch: look }, onProgress: () => void look() });
    await look();
    expect([...seen]).toEqual([100, 300]);
  });

  it('replaces fictional profiles, of which it exports none', async () => {
    await take(leads.slice(0, 10));
    await writeManifest(folder, { ...readManifest(folder)!, fictional: 'generated', list: '', swept: 0 });
    expect(await stats()).toMatchObject({ profiles: 10, synthetic: true, updatedAt: null });
    expect(await exported()).toEqual([]);
    expect(await (await open()).forget(['anna'], { signal })).toEqual({ removed: 0 });
    expect(await take(leads.slice(5, 20))).toMatchObject({ added: 15, updated: 0, profiles: 15 });
    expect(await stats()).toMatchObject({ profiles: 15, synthetic: false });
  });

  it('is refused over profiles of an earlier version, but replaces them', async () => {
    await open();
    writeFileSync(join(folder, 'current.json'), '{"format":1,"synthetic":false}');
    for (const work of [() => take(leads), exported, stats])
      await expect(work()).rejects.toMatchObject({
        problem: 'damaged',
        message: expect.stringMatching(
          /of another version, which can export them\. .*import all profiles again/,
        ),
      });
    expect(await take(leads, { mode: 'replace' })).toMatchObject({ profiles: leads.length });
  });
});

describe('a keeper on a disk that fills up', () => {
  const roomy: DiskRoom = { free: 90e9, whole: 100e9 };
  const scarce: DiskRoom = { free: 255e6, whole: 100e9 };
  const importWith = async (readRoom: () => DiskRoom | null, input: LeadInputOptions = {}) => {
    const keeper = await openSqliteIndex({ folder, people: made.people, readRoom });
    return keeper.importLeads({ signal, mode: 'upsert', input: leadInputOf(leads, input) });
  };
  /** While it holds, whatever SQLite commits to the files that `isFull` picks finds no room. */
  const fillDisk = (isFull: (file: string) => boolean): { clear(): void } => {
    const exec = DatabaseSync.prototype.exec;
    const spy = vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function (
      this: DatabaseSync,
      sql,
    ) {
      if (sql === 'COMMIT' && isFull(this.location() ?? ''))
        throw Object.assign(new Error('database or disk is full'), { errcode: 13 });
      exec.call(this, sql);
    });
    onTestFinished(() => spy.mockRestore());
    return { clear: () => spy.mockRestore() };
  };

  it('leaves the disk space that a gateway needs', async () => {
    await expect(importWith(() => scarce)).rejects.toMatchObject({
      problem: 'failed',
      message: `There is not enough free space on the disk of ${folder}: 255 MB are free, and 256 MB are reserved for the gateway. Nothing is lost. Free some space and try again.`,
    });
    expect(filesLike(/^(?:next|profiles)-/)).toEqual([]);
    const small = { free: 41e6, whole: 800e6 };
    expect(await importWith(() => small)).toMatchObject({ profiles: 300 });
  });

  it('imports profiles if the free space is unknown', async () => {
    expect(await importWith(() => null)).toMatchObject({ profiles: 300 });
  });

  it('stops an import that would use up the reserve', async () => {
    let isScarce = false;
    const beforeBatch = async (row: number): Promise<void> => {
      if (row < 100) return;
      isScarce = true;
      // The free space is looked at meanwhile.
      await new Promise((resolve) => setTimeout(resolve, 200));
    };
    const importing = importWith(() => (isScarce ? scarce : roomy), { beforeBatch });
    await expect(importing).rejects.toThrow('not enough free space');
    expect(filesLike(/^(?:next|profiles)-/)).toEqual([]);
  });

  it('reports a full disk that its input finds', async () => {
    const full = Object.assign(new Error('write ENOSPC'), { code: 'ENOSPC' });
    const beforeBatch = (done: number): Promise<void> =>
      done > 0 ? Promise.reject(full) : Promise.resolve();
    await expect(take(leads, { input: { beforeBatch } })).rejects.toThrow(
      'not enough free space on the disk',
    );
  });

  it.each<{ what: string; before: readonly Lead[] }>([
    { what: 'the first profiles', before: [] },
    { what: 'more profiles', before: [buildLead()] },
  ])('frees its file when it cannot write it ($what)', async ({ before }) => {
    await take(before);
    const files = filesLike(/\.db$/);
    const disk = fillDisk((file) => file.includes('/next-'));
    await expect(take(leads)).rejects.toThrow('not enough free space');
    disk.clear();
    expect(filesLike(/\.db/)).toEqual(files);
    await take(leads);
    expect(await exported()).toHaveLength(300 + before.length);
  });

  it('reports a full disk when forgetting people, who are not found any more', async () => {
    await take(leads);
    const disk = fillDisk((file) => file.includes('/profiles-'));
    const keeper = await open();
    await expect(keeper.forget([leads[0]!.username], { signal })).rejects.toThrow(
      /^There is not enough free space on the disk of .* Searches no longer find these people, .*still on the disk\. Run the command again\.$/,
    );
    expect(await keeper.stats()).toMatchObject({ profiles: 300, forgotten: 1 });
    disk.clear();
    expect(await keeper.forget([leads[0]!.username], { signal })).toEqual({ removed: 1 });
    expect(await exported()).toHaveLength(299);
  });

  it('takes its lock without writing', async () => {
    const seen: string[][] = [];
    await take(leads, { input: { beforeBatch: () => void seen.push(filesLike(/^keeper/)) } });
    expect(new Set(seen.flat())).toEqual(new Set(['keeper.lock']));
    expect(statSync(join(folder, 'keeper.lock')).size).toBe(0);
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
    await expect(take(leads)).rejects.toMatchObject({ problem: 'failed' });
  });

  it('puts people on the list, and says that their profiles are not erased', async () => {
    await take(leads);
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
    await take(leads);
    rmSync(join(folder, 'keeper.lock'));
    chmodSync(folder, 0o500);
    try {
      await expect(take(leads)).rejects.toThrow(/the user \S+ may not read and write all of it/);
      expect(await stats()).toMatchObject({ profiles: 300 });
    } finally {
      chmodSync(folder, 0o700);
    }
  });
});

describe('a keeper of damaged profiles', () => {
  const damagedOnes: [string, () => void][] = [
    ['the file is cut off', () => truncateSync(profileFile(), 9_000)],
    ['the file is empty', () => truncateSync(profileFile(), 0)],
    ['the file is something else', () => writeFileSync(profileFile(), 'not a database'.repeat(1_000))],
    ['the file is missing', () => rmSync(profileFile())],
    ['the manifest is cut off', () => truncateSync(join(folder, 'current.json'), 20)],
    ['the manifest is empty', () => truncateSync(join(folder, 'current.json'), 0)],
    ['the manifest is of a later version', () => writeFileSync(join(folder, 'current.json'), '{"format":9}')],
  ];
  it.each(damagedOnes)('refuses to add to them, and accepts a replacement (%s)', async (_, harm) => {
    await take(leads);
    harm();
    await expect(take([buildLead()])).rejects.toMatchObject({ problem: 'damaged' });
    await expect(exported()).rejects.toMatchObject({ problem: 'damaged' });
    expect(await take(leads.slice(0, 7), { mode: 'replace' })).toMatchObject({ profiles: 7 });
    expect(await exported()).toHaveLength(7);
    expect(filesLike(/^profiles-/)).toHaveLength(1);
  });

  it('keeps what is left of them until the replacement is whole', async () => {
    await take(leads);
    const [file] = filesLike(/^profiles-/);
    truncateSync(join(folder, 'current.json'), 20);
    const beforeBatch = (row: number): void => {
      if (row > 100) throw new Error('broken');
    };
    await expect(take(leads, { mode: 'replace', input: { beforeBatch } })).rejects.toThrow('broken');
    expect(filesLike(/^profiles-/)).toEqual([file]);
  });

  it('puts people on the list even so, and leaves them out when the file is back', async () => {
    await take(leads);
    const file = profileFile();
    const good = readFileSync(file);
    truncateSync(file, 9_000);
    const [{ username } = buildLead()] = leads;
    await expect((await open()).forget([username], { signal })).rejects.toMatchObject({
      problem: 'damaged',
      message: expect.stringContaining('Searches no longer find these people'),
    });
    writeFileSync(file, good);
    expect(await take([buildLead({ username: 'another' })])).toMatchObject({ profiles: 300 });
    expect((await exported()).map((lead) => lead.username)).not.toContain(username);
  });

  it('does not change profiles that were compared with a list which the store does not have', async () => {
    await take(leads);
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

describe('a person who asks to be forgotten', () => {
  const person = buildLead({
    username: 'Private.Person',
    full_name: 'Privata Personova',
    bio: 'the zanzibarquux',
    public_email: 'reach.me.privately@example.com',
  });
  const holdsAny = (...texts: string[]): string[] =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => statSync(join(folder, name)).isFile())
      .filter((name) => texts.some((text) => readFileSync(join(folder, name)).includes(text)));
  const holdsPerson = (): string[] =>
    holdsAny('reach.me.privately', 'Private.Person', 'private.person', 'Personova', 'the zanzibarquux');
  const holdsWords = (): string[] => holdsAny('zanzibarquux', 'personova', 'privateperson');
  const findsPerson = async (): Promise<boolean> => {
    const found = await made.search([{ query: 'zanzibarquux', limit: 9 }, { limit: 500 }]);
    return found.flat().some(({ username }) => username === person.username);
  };

  it('is erased from every file at once, but for single words, and those with the next import', async () => {
    await take([...leads, person]);
    expect([holdsPerson().length, holdsWords().length, await findsPerson()]).toEqual([1, 1, true]);
    const { generation } = await stats();
    const keeper = await open();
    const named = ['private.person', 'PRIVATE.PERSON', 'nobody'];
    expect(await keeper.forget(named, { signal })).toEqual({ removed: 1 });
    expect([holdsPerson(), await findsPerson()]).toEqual([[], false]);
    expect(await exported()).toEqual(leads.toSorted(compareLeads));
    expect(await keeper.stats()).toMatchObject({ profiles: 300, forgotten: 2 });
    expect((await stats()).generation).not.toBe(generation);
    expect(await keeper.forget(['private.person'], { signal })).toEqual({ removed: 0 });
    await take([buildLead({ username: 'another' })]);
    expect([holdsPerson(), holdsWords()]).toEqual([[], []]);
  });

  it('leaves nothing behind when their profile is replaced', async () => {
    await take([...leads, person]);
    await take([buildLead({ username: 'PRIVATE.person' })]);
    expect(holdsAny('reach.me.privately', 'Personova', 'zanzibarquux', 'personova')).toEqual([]);
    await take([person]);
    await take([buildLead({ username: 'another' })], { mode: 'replace' });
    expect([holdsPerson(), holdsWords()]).toEqual([[], []]);
  });

  it('leaves nothing behind in a large file', async () => {
    const many = [...generateLeads({ seed: 8, profiles: 20_000 })];
    await take([...many.slice(0, 9_000), person, ...many.slice(9_000)], { input: { batchRows: 1_000 } });
    await (await open()).forget([person.username], { signal });
    expect(holdsPerson()).toEqual([]);
    await take(many.slice(0, 10));
    expect(holdsWords()).toEqual([]);
  });

  it('is left out by every import until restored', async () => {
    const keeper = await open();
    await keeper.forget(['private.person'], { signal });
    expect(await take([...leads, person, person])).toMatchObject({ added: 300, forgotten: 2 });
    expect(await take([person], { mode: 'replace' })).toMatchObject({ added: 0, forgotten: 1, profiles: 0 });
    expect(await keeper.remember(['PRIVATE.person', 'nobody'])).toEqual({ restored: 1 });
    expect(await take([person])).toMatchObject({ added: 1, forgotten: 0, profiles: 1 });
  });

  it.each<{ what: string; finish: () => Promise<unknown> }>([
    { what: 'a sweep', finish: async () => (await open()).sweep() },
    { what: 'an import', finish: () => take([buildLead({ username: 'another' })]) },
    { what: 'a second deletion', finish: async () => (await open()).forget([person.username], { signal }) },
  ])('is erased by $what if the deletion ended when only the list had them', async ({ finish }) => {
    await take([...leads, person]);
    await made.people.add([person.username]);
    expect(await findsPerson()).toBe(true);
    expect((await exported()).map(({ username }) => username)).not.toContain(person.username);
    await finish();
    expect([holdsPerson(), await findsPerson()]).toEqual([[], false]);
    await (await open()).sweep();
    const { revision } = await made.people.read();
    expect(readManifest(folder)).toMatchObject({ swept: revision, profiles: (await exported()).length });
  });

  it('does not change the manifest if it needs no sweep', async () => {
    await take(leads);
    const manifest = readFileSync(join(folder, 'current.json'));
    await (await open()).sweep();
    expect(readFileSync(join(folder, 'current.json'))).toEqual(manifest);
  });

  it('is erased from the profiles that are searched during an import, and from those that come', async () => {
    await take([...leads, person]);
    const found: boolean[] = [];
    const beforeBatch = async (row: number): Promise<void> => {
      if (row !== 100) return;
      expect(await (await open()).forget([person.username], { signal })).toEqual({ removed: 1 });
      found.push(await findsPerson());
    };
    const rows = [person, ...leads.slice(0, 200), person];
    expect(await take(rows, { input: { beforeBatch } })).toMatchObject({ rows: 202, profiles: 300 });
    expect([found, await findsPerson(), holdsPerson(), holdsWords()]).toEqual([[false], false, [], []]);
  });

  // The list is read five times: before the import, for its rows, before its switch, after it, and once too many.
  const moments = [1, 2, 3, 4, 5].flatMap((reading) =>
    (['before', 'after'] as const).map((when) => ({ reading, when })),
  );
  it.each(moments)(
    'is erased, $when the import reads the list for the time $reading',
    async ({ reading, when }) => {
      await take([...leads, person]);
      let readings = 0;
      const forget = async (): Promise<void> =>
        void (await (await open()).forget([person.username], { signal }));
      const people: ForgottenPeople = {
        ...made.people,
        read: async () => {
          readings += 1;
          const isNow = readings === reading;
          if (isNow && when === 'before') await forget();
          const list = await made.people.read();
          if (isNow && when === 'after') await forget();
          return list;
        },
      };
      const keeper = await made.openKeeper(people);
      const rows = [person, ...leads.slice(0, 50)];
      await keeper.importLeads({ input: leadInputOf(rows), mode: 'upsert', signal });
      if (readings < reading) await forget();
      expect([await findsPerson(), holdsPerson()]).toEqual([false, []]);
      expect(await exported()).toHaveLength(300);
      await (await open()).sweep();
      expect(await stats()).toMatchObject({ profiles: 300, forgotten: 1 });
    },
  );

  it('is not found if their profile could not be erased, and is erased by a second call', async () => {
    await take([...leads, person]);
    inFile("CREATE TRIGGER no BEFORE DELETE ON people BEGIN SELECT RAISE(ABORT, 'not now'); END");
    const keeper = await open();
    await expect(keeper.forget([person.username], { signal })).rejects.toThrow(
      /erased \(not now\).*Searches no longer find/,
    );
    expect((await made.people.find([person.username], { signal })).size).toBe(1);
    inFile('DROP TRIGGER no');
    expect(holdsPerson()).not.toEqual([]);
    expect(await keeper.forget([person.username], { signal })).toEqual({ removed: 1 });
    expect(holdsPerson()).toEqual([]);
  });

  it('is not put on the list by a deletion that is stopped before', async () => {
    await take([...leads, person]);
    const stopped = AbortSignal.abort(new Error('stopped'));
    await expect((await open()).forget([person.username], { signal: stopped })).rejects.toThrow('stopped');
    expect(await stats()).toMatchObject({ profiles: 301, forgotten: 0 });
  });

  it('is forgotten beside another change of the manifest', async () => {
    await take([...leads, person]);
    const lock = lockProfiles(folder);
    expect(await (await open()).forget([person.username], { signal })).toEqual({ removed: 1 });
    expect(holdsPerson()).toEqual([]);
    lock.close();
    await (await open()).sweep();
    expect(await stats()).toMatchObject({ profiles: 300 });
  });

  it('may be one of 3,000', async () => {
    const many = [...generateLeads({ seed: 5, profiles: 5_000 })];
    await take(many, { input: { batchRows: 1_000 } });
    const names = many.slice(0, 3_000).map(({ username }) => username);
    expect(await (await open()).forget(names, { signal })).toEqual({ removed: 3_000 });
    expect(await exported()).toEqual(many.slice(3_000).sort(compareLeads));
    expect(await (await open()).remember(names)).toEqual({ restored: 3_000 });
  });
});

describe('the statistics', () => {
  it('are right while files come and go', async () => {
    await take(leads);
    const deep = join(folder, 'deep/er');
    const isOver = { now: false };
    const changing = (async () => {
      while (!isOver.now) {
        await mkdir(deep, { recursive: true });
        await rm(dirname(deep), { recursive: true });
      }
    })();
    for (let time = 0; time < 300; time += 1) expect(await stats()).toMatchObject({ profiles: 300 });
    isOver.now = true;
    await changing;
  });
});
