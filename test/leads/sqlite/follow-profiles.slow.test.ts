import {
  appendFileSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { openSqliteLeads, type SqliteLeadsOptions } from '../../../src/leads/sqlite/open-sqlite-leads.ts';
import { readManifest, writeManifest } from '../../../src/leads/sqlite/profiles-folder.ts';
import type { Lead, LeadSource } from '../../../src/leads/lead-source.ts';
import { marked } from '../build-lead.ts';
import { createSqliteProfiles, type SqliteProfiles } from './create-sqlite-profiles.ts';
import { namesFound, namesWhenReady, whenReady } from './when-ready.ts';

const signal = new AbortController().signal;

let made: SqliteProfiles;
let home: string;
let folder: string;
let lines: { msg: string; reason?: string }[];
let open: LeadSource[];
beforeEach(async () => {
  made = await createSqliteProfiles();
  ({ folder } = made);
  home = dirname(folder);
  lines = [];
  open = [];
});
afterEach(async () => {
  await Promise.all(open.map((leads) => leads.close()));
  await made.remove();
});

const start = async (profiles = 0, options: Partial<SqliteLeadsOptions> = {}): Promise<LeadSource> => {
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const leads = await openSqliteLeads({
    folder,
    fictional: { seed: 1, profiles },
    people: made.people,
    sweep: async () => (await made.openKeeper()).sweep(),
    log,
    ...options,
  });
  open.push(leads);
  return leads;
};
const logged = (message: string) => lines.filter(({ msg }) => msg.includes(message));

const startReady = async (profiles = 0): Promise<LeadSource> => {
  const leads = await start(profiles);
  await whenReady(leads);
  return leads;
};
/** Waits until the log has said for the first time that nothing can be searched, and why. */
const untilUnsearchable = async (reason: RegExp = /./): Promise<void> => {
  await until(() => expect(logged('no profiles to search')).toHaveLength(1));
  expect(logged('no profiles to search')).toMatchObject([{ reason: expect.stringMatching(reason) }]);
};

const until = (check: () => void | Promise<void>): Promise<void> =>
  vi.waitFor(check, { timeout: 15_000, interval: 20 });
describe('the leads of SQLite beside imports', () => {
  it('find nobody before the first one if fictional profiles are off', async () => {
    const leads = await start();
    await until(() =>
      expect(leads.status()).toEqual({ ready: true, synthetic: false, profiles: 0, revision: 'empty' }),
    );
    expect(await leads.search({ limit: 1 }, { signal })).toEqual([]);
    await made.take(marked('first'));
    expect(await namesWhenReady(leads)).toEqual(['first']);
    expect(leads.status()).toMatchObject({ ready: true, synthetic: false, profiles: 20 });
    await untilUnsearchable(/leads import/);
  });

  it('find nobody while the first one is under way', async () => {
    const leads = await start();
    await until(() => expect(leads.status().ready).toBe(true));
    const found: Lead[][] = [];
    const beforeBatch = async () => void found.push(await leads.search({ limit: 1 }, { signal }));
    await made.take(marked('first'), { input: { beforeBatch } });
    expect(found).toEqual([[], []]);
    await until(async () => expect(await namesFound(leads)).toEqual(['first']));
    expect(logged('no profiles to search')).toHaveLength(1);
  });

  it('do not treat profiles that cannot be opened as none', async () => {
    const leads = await start();
    await until(() => expect(leads.status().ready).toBe(true));
    await made.take(marked('first'));
    await until(() => expect(leads.status().profiles).toBe(20));
    await writeFile(join(folder, 'current.json'), 'no manifest');
    await leads.close();
    const again = await start();
    await until(() => expect(logged('no profiles to search')).toHaveLength(2));
    expect(again.status().ready).toBe(false);
    await expect(again.search({ limit: 1 }, { signal })).rejects.toMatchObject({ status: 502 });
  });

  it('answer each search from one set of profiles', async () => {
    const marks = ['mark0', 'mark1', 'mark2', 'mark3', 'mark4'];
    await made.take(marked('mark0'));
    const leads = await startReady();
    const isOver = { now: false };
    const seen = await namesFound(leads);
    const searching = Array.from({ length: 4 }, async () => {
      while (!isOver.now) {
        const names = await namesFound(leads);
        expect(names).toHaveLength(1);
        seen.push(...names);
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
    });
    for (const mark of marks.slice(1)) {
      const { revision } = leads.status();
      await made.take(marked(mark), { mode: mark === 'mark3' ? 'replace' : 'upsert' });
      await until(() => expect(leads.status().revision).not.toBe(revision));
      expect(await namesFound(leads)).toEqual([mark]);
    }
    isOver.now = true;
    await Promise.all(searching);
    expect([...new Set(seen)].sort()).toEqual(marks);
    expect(logged('searches use new profiles')).toHaveLength(4);
  });

  it('do not find a person who asked to be forgotten', async () => {
    await made.take(marked('someone'));
    const leads = await startReady();
    await (await made.openKeeper()).forget(['user0'], { signal });
    await until(() => expect(leads.status().profiles).toBe(19));
    expect(await leads.search({ limit: 1 }, { signal })).toMatchObject([{ username: 'user1' }]);
  });

  it('erase people whose deletion ended when only the list had them', async () => {
    await made.take(marked('someone'));
    await made.people.add(['user0', 'user1']);
    const leads = await start();
    await until(() => expect(leads.status().profiles).toBe(18));
    expect(await leads.search({ limit: 1 }, { signal })).toMatchObject([{ username: 'user2' }]);
    expect(readFileSync(made.file()).includes('"user1"')).toBe(false);
  });

  it('are not searched where the store has lost the list that they were compared with', async () => {
    await made.take(marked('someone'));
    const other = await createSqliteProfiles();
    onTestFinished(() => other.remove());
    const sweep = () => Promise.reject(new Error('not to be called'));
    const leads = await start(30, { people: other.people, sweep });
    await untilUnsearchable(/Restore the store and the profiles from one backup/);
    await expect(leads.search({ limit: 1 }, { signal })).rejects.toMatchObject({ status: 502 });
  });

  it.each([true, false])('of an earlier version are refused (synthetic: %s)', async (synthetic) => {
    mkdirSync(folder);
    writeFileSync(join(folder, 'current.json'), JSON.stringify({ format: 1, synthetic }));
    const files = readdirSync(folder);
    const leads = await start(30);
    await untilUnsearchable(
      /another version of Causeway, which can export its profiles;.*import all profiles again/,
    );
    expect(leads.status()).toMatchObject({ ready: false, profiles: 0 });
    expect(readdirSync(folder)).toEqual(files);
  });

  it('replace fictional profiles by real ones for good', async () => {
    const leads = await startReady(50);
    expect(await made.stats()).toMatchObject({ synthetic: true, profiles: 50, updatedAt: null });
    expect(await made.exported()).toEqual([]);
    expect(await made.take(marked('real'))).toMatchObject({ added: 20, profiles: 20 });
    await until(() => expect(leads.status()).toMatchObject({ synthetic: false, profiles: 20 }));
    await leads.close();

    const again = await startReady(70);
    expect(again.status()).toMatchObject({ synthetic: false, profiles: 20 });
    expect(await namesFound(again)).toEqual(['real']);
  });

  it('stop building fictional profiles when real ones come first, and are these at once', async () => {
    // So many that the test would be over before they are built.
    const leads = await start(5_000_000);
    await until(() => expect(readdirSync(folder).some((name) => name.startsWith('building-'))).toBe(true));
    await made.take(marked('real'));
    expect(await namesWhenReady(leads)).toEqual(['real']);
    await until(() => expect(readdirSync(folder).filter((name) => name.startsWith('building-'))).toEqual([]));
    expect(logged('failed')).toEqual([]);
  });

  it('stop serving fictional profiles when they are switched off', async () => {
    const first = await startReady(30);
    await first.close();
    const leads = await start(0);
    await untilUnsearchable();
    expect(leads.status()).toMatchObject({ ready: true, synthetic: false, profiles: 0 });
    expect(await leads.search({ limit: 1 }, { signal })).toEqual([]);
  });

  it('continue with the former profiles when new ones cannot be opened', async () => {
    await made.take(marked('old'));
    const leads = await startReady();
    const manifest = readManifest(folder)!;
    await writeManifest(folder, { ...manifest, generation: 'broken', file: 'profiles-0.db' });
    await until(() => expect(logged('cannot be opened')).toHaveLength(1));
    expect(await namesFound(leads)).toEqual(['old']);
    await made.take(marked('new'), { mode: 'replace' });
    await until(async () => expect(await namesFound(leads)).toEqual(['new']));
  });

  it('serve real profiles that another version of Unicode folded, and warn until the next import', async () => {
    await made.take(marked('real'));
    await writeManifest(folder, { ...readManifest(folder)!, folding: '1.0' });
    const leads = await startReady(40);
    expect(await namesFound(leads)).toEqual(['real']);
    expect(logged('another version indexed the profiles')).toHaveLength(1);
    await made.take(marked('new'));
    await until(async () => expect(await namesFound(leads)).toEqual(['new']));
    expect(logged('another version indexed the profiles')).toHaveLength(1);
  });
});

describe('the leads of SQLite with damaged real profiles', () => {
  const harm: Record<string, () => void> = {
    'the file is cut off': () => truncateSync(made.file(), Math.floor(statSync(made.file()).size / 3)),
    'the file is empty': () => truncateSync(made.file(), 0),
    'the file is missing': () => rmSync(made.file()),
    'the manifest is something else': () => writeFileSync(join(folder, 'current.json'), 'not a manifest'),
  };
  it.each(Object.keys(harm))('serve nothing, replace nothing, and say what to do (%s)', async (name) => {
    await made.take(marked('real'));
    harm[name]!();
    const files = readdirSync(folder);
    const leads = await start(30);
    await untilUnsearchable(/backup.*leads import --replace/);
    expect(leads.status()).toMatchObject({ ready: false });
    expect(readdirSync(folder)).toEqual(files);
    await made.take(marked('again'), { mode: 'replace' });
    expect(await namesWhenReady(leads)).toEqual(['again']);
  });
});

describe('the leads of SQLite while a backup is restored', () => {
  const backup = (): string => join(home, 'backup');
  const takeAndBackUp = async (): Promise<void> => {
    await made.take(marked('real'));
    cpSync(folder, backup(), { recursive: true });
  };
  const startBackedUp = async (): Promise<LeadSource> => {
    await takeAndBackUp();
    return startReady(30);
  };
  const manifestAt = (at: string): string => join(at, 'current.json');
  const restoreManifest = (): void => copyFileSync(manifestAt(backup()), manifestAt(folder));
  const expectNothingInvented = (): void => {
    expect(logged('building the lead index')).toEqual([]);
    expect(logged('is unusable')).toEqual([]);
  };

  it('wait for the manifest if files of real profiles exist, and remove none of them', async () => {
    await takeAndBackUp();
    rmSync(manifestAt(folder));
    const leads = await start(30);
    await untilUnsearchable(/no current\.json/);
    expect(leads.status()).toMatchObject({ ready: false, synthetic: false });
    restoreManifest();
    expect(await namesWhenReady(leads)).toEqual(['real']);
    expectNothingInvented();
  });

  it('wait for damaged real profiles that are copied back piece by piece', async () => {
    await takeAndBackUp();
    const restored = made.file();
    const bytes = readFileSync(restored);
    truncateSync(restored, 5_000);
    const leads = await start(30);
    await untilUnsearchable();
    rmSync(manifestAt(folder));
    rmSync(restored);
    await until(() => expect(logged('no profiles to search')).toHaveLength(2));
    const half = Math.floor(bytes.length / 2);
    writeFileSync(restored, bytes.subarray(0, half));
    appendFileSync(restored, bytes.subarray(half));
    restoreManifest();
    expect(await namesWhenReady(leads)).toEqual(['real']);
    expect(logged('no profiles to search')).toMatchObject([
      { reason: expect.stringContaining('damaged') },
      { reason: expect.stringContaining('are gone') },
    ]);
    expectNothingInvented();
  });

  it('notice a restored file with the size and times of the damaged one', async () => {
    await made.take(marked('real'));
    const bytes = readFileSync(made.file());
    const write = (content: Buffer): void => {
      writeFileSync(made.file(), content);
      utimesSync(made.file(), 1_700_000_000, 1_700_000_000);
    };
    write(Buffer.alloc(bytes.length));
    const leads = await start(30);
    await untilUnsearchable();
    write(bytes);
    expect(await namesWhenReady(leads)).toEqual(['real']);
  });

  it('continue with real profiles whose folder was removed, and wait for them after losing them', async () => {
    const leads = await startBackedUp();
    // The first search opens the file.
    expect(await namesFound(leads)).toEqual(['real']);
    rmSync(folder, { recursive: true });
    expect(await namesFound(leads)).toEqual(['real']);
    // The second one needs another thread, which does not have the file open.
    await Promise.allSettled([namesFound(leads), namesFound(leads)]);
    await untilUnsearchable();
    mkdirSync(folder);
    renameSync(backup(), folder);
    expect(await namesWhenReady(leads)).toEqual(['real']);
    expectNothingInvented();
  });

  it.each(['a file that is missing', 'nothing that can be read'])(
    'give fictional profiles up for a manifest of real ones that names %s',
    async (what) => {
      await takeAndBackUp();
      rmSync(folder, { recursive: true });
      const leads = await startReady(30);
      expect(leads.status()).toMatchObject({ synthetic: true });
      if (what === 'a file that is missing') restoreManifest();
      else writeFileSync(manifestAt(folder), 'half a mani');
      await untilUnsearchable();
      expect(leads.status()).toMatchObject({ ready: false });
      cpSync(backup(), folder, { recursive: true });
      expect(await namesWhenReady(leads)).toEqual(['real']);
    },
  );

  it('do not replace real profiles by fictional ones', async () => {
    const leads = await startBackedUp();
    await writeManifest(folder, { ...readManifest(folder)!, fictional: 'generated', generation: 'other' });
    // The folder is looked at meanwhile.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(leads.status()).toMatchObject({ ready: true, synthetic: false });
    expect(await namesFound(leads)).toEqual(['real']);
  });

  const restore: Record<string, () => void> = {
    'as a folder in the place of the old one': () => {
      const copy = join(home, 'copy');
      cpSync(backup(), copy, { recursive: true });
      rmSync(join(home, 'old'), { recursive: true, force: true });
      renameSync(folder, join(home, 'old'));
      renameSync(copy, folder);
    },
    'file by file, the manifest first': () => {
      restoreManifest();
      const name = readManifest(backup())!.file;
      rmSync(join(folder, name), { force: true });
      copyFileSync(join(backup(), name), join(folder, name));
    },
    'over the files that are there': () => cpSync(backup(), folder, { recursive: true }),
  };
  it.each(Object.keys(restore))('search it without those who were forgotten since, put %s', async (how) => {
    const leads = await startBackedUp();
    await (await made.openKeeper()).forget(['user0'], { signal });
    await until(() => expect(leads.status().profiles).toBe(19));
    restore[how]!();
    await until(() => expect(leads.status()).toMatchObject({ ready: true, profiles: 19 }));
    await made.take(marked('other'));
    await until(async () => expect(await namesFound(leads)).toEqual(['other']));
    restore[how]!();
    await until(async () => expect(await namesFound(leads)).toEqual(['real']));
    // The source itself is not filtered by the list.
    const first = () => leads.search({ limit: 1 }, { signal });
    await until(async () => expect(await first()).toMatchObject([{ username: 'user1' }]));
    await until(() => expect(leads.status()).toMatchObject({ ready: true, profiles: 19 }));
  });

  it('search it in the place of a file that proved damaged', async () => {
    const leads = await startBackedUp();
    const name = readManifest(folder)!.file;
    const bytes = readFileSync(join(folder, name));
    writeFileSync(join(folder, name), bytes.fill(0x77, 8_192));
    await expect(leads.search({ query: 'real', limit: 5 }, { signal })).rejects.toMatchObject({
      status: 502,
    });
    expect(leads.status().ready).toBe(false);
    copyFileSync(join(backup(), name), join(folder, 'restored'));
    renameSync(join(folder, 'restored'), join(folder, name));
    expect(await namesWhenReady(leads)).toEqual(['real']);
    expectNothingInvented();
  });
});
