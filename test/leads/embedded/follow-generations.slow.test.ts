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
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { readManifest, writeManifest } from '../../../src/leads/embedded/manifest.ts';
import { openEmbeddedKeeper } from '../../../src/leads/embedded/open-embedded-keeper.ts';
import { openEmbeddedLeads, type EmbeddedLeads } from '../../../src/leads/embedded/open-embedded-leads.ts';
import { startReadWorker } from '../../../src/leads/embedded/read/open-reader.ts';
import type { Lead } from '../../../src/leads/lead-source.ts';
import { buildLead } from '../build-lead.ts';
import { foldOtherwise } from './fold-otherwise.ts';
import { leadInputOf } from './lead-input-of.ts';

const signal = new AbortController().signal;

let home: string;
let folder: string;
let threads: Worker[];
let lines: { msg: string; reason?: string }[];
let open: EmbeddedLeads[];
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'leads-'));
  folder = join(home, 'leads');
  threads = [];
  lines = [];
  open = [];
});
afterEach(async () => {
  await Promise.all(open.map((leads) => leads.close()));
  await rm(home, { recursive: true });
});

const start = async (syntheticProfiles = 0): Promise<EmbeddedLeads> => {
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const leads = await openEmbeddedLeads({
    folder,
    syntheticProfiles,
    log,
    startReadWorker: (of) => {
      const thread = startReadWorker(of);
      threads.push(thread);
      return thread;
    },
  });
  open.push(leads);
  return leads;
};
const logged = (message: string) => lines.filter(({ msg }) => msg.includes(message));

/** Profiles that all have `mark` for their name, of people who are the same for every mark. */
const marked = (mark: string, count = 20): Lead[] =>
  Array.from({ length: count }, (_, index) =>
    buildLead({ username: `user${index}`, full_name: mark, followers: 1000 - index }),
  );
const take = async (leads: Lead[], mode: 'upsert' | 'replace' = 'upsert') =>
  (await openEmbeddedKeeper({ folder })).importLeads({ input: leadInputOf(leads), mode, signal });
const until = (check: () => void | Promise<void>): Promise<void> =>
  vi.waitFor(check, { timeout: 60_000, interval: 20 });
const baseFile = (): string => join(folder, readManifest(folder)!.base.file);
const namesFound = async (leads: EmbeddedLeads): Promise<string[]> => [
  ...new Set((await leads.search({ limit: 100 }, { signal })).map(({ full_name: name }) => name)),
];

describe('the embedded leads beside imports', () => {
  it('find nobody before the first one if fictional profiles are off', async () => {
    const leads = await start();
    await until(() =>
      expect(leads.status()).toEqual({ ready: true, synthetic: false, profiles: 0, revision: 'empty' }),
    );
    expect(await leads.search({ limit: 1 }, { signal })).toEqual([]);
    await take(marked('first'));
    await leads.whenReady();
    expect(await namesFound(leads)).toEqual(['first']);
    expect(leads.status()).toMatchObject({ ready: true, synthetic: false, profiles: 20 });
    expect(logged('no profiles to search')).toMatchObject([
      { reason: expect.stringContaining('leads import') },
    ]);
  });

  it('find nobody while the first one is being written', async () => {
    const leads = await start();
    await until(() => expect(leads.status().ready).toBe(true));
    await writeFile(join(folder, 'base-1.db'), 'half of an import');
    await until(() => expect(logged('no profiles to search')).toHaveLength(2));
    expect(leads.status()).toMatchObject({ ready: true, profiles: 0 });
    expect(await leads.search({ limit: 1 }, { signal })).toEqual([]);
    await take(marked('first'));
    await until(async () => expect(await namesFound(leads)).toEqual(['first']));
  });

  it('do not treat profiles that cannot be opened as none', async () => {
    const leads = await start();
    await until(() => expect(leads.status().ready).toBe(true));
    await take(marked('first'));
    await until(() => expect(leads.status().profiles).toBe(20));
    await writeFile(join(folder, 'current.json'), 'no manifest');
    await leads.close();
    const again = await start();
    await until(() => expect(logged('no profiles to search')).toHaveLength(2));
    expect(again.status().ready).toBe(false);
    await expect(again.search({ limit: 1 }, { signal })).rejects.toMatchObject({ status: 502 });
  });

  it('answer each search from one generation, and name it', async () => {
    await take(marked('mark0'));
    const leads = await start();
    await leads.whenReady();
    const seen = new Map<string, Set<string>>();
    const isOver = { now: false };
    const searching = Array.from({ length: 4 }, async () => {
      while (!isOver.now) {
        const before = leads.status().revision;
        const names = await namesFound(leads);
        expect(names).toHaveLength(1);
        if (leads.status().revision !== before) continue;
        seen.set(before, (seen.get(before) ?? new Set()).add(names[0]!));
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
    });
    for (const mark of ['mark1', 'mark2', 'mark3', 'mark4']) {
      await take(marked(mark), mark === 'mark3' ? 'replace' : 'upsert');
      await until(() => expect([...seen.values()].some((names) => names.has(mark))).toBe(true));
    }
    isOver.now = true;
    await Promise.all(searching);
    expect([...seen.values()].map((names) => [...names])).toEqual(
      ['mark0', 'mark1', 'mark2', 'mark3', 'mark4'].map((mark) => [mark]),
    );
    expect(logged('searches use new profiles')).toHaveLength(4);
  });

  it('do not find a person who asked to be forgotten', async () => {
    await take(marked('someone'));
    const leads = await start();
    await leads.whenReady();
    await (await openEmbeddedKeeper({ folder })).forget(['user0'], { signal });
    await until(() => expect(leads.status().profiles).toBe(19));
    const [first] = await leads.search({ limit: 1 }, { signal });
    expect(first?.username).toBe('user1');
  });

  it('replace fictional profiles by real ones for good', async () => {
    const leads = await start(50);
    await leads.whenReady();
    expect(await (await openEmbeddedKeeper({ folder })).stats()).toMatchObject({
      synthetic: true,
      profiles: 50,
      updatedAt: null,
    });
    expect(await Array.fromAsync((await openEmbeddedKeeper({ folder })).exportLeads({ signal }))).toEqual([]);
    expect(await take(marked('real'))).toMatchObject({ added: 20, profiles: 20 });
    await until(() => expect(leads.status()).toMatchObject({ synthetic: false, profiles: 20 }));
    await leads.close();

    const again = await start(70);
    await again.whenReady();
    expect(again.status()).toMatchObject({ synthetic: false, profiles: 20 });
    expect(await namesFound(again)).toEqual(['real']);
  });

  it('stop building fictional profiles when real ones come first', async () => {
    const leads = await start(1_000_000);
    await until(() => expect(readdirSync(folder).some((name) => name.startsWith('building-'))).toBe(true));
    await take(marked('real'));
    await leads.whenReady();
    expect(await namesFound(leads)).toEqual(['real']);
    await until(() => expect(readdirSync(folder).filter((name) => name.startsWith('building-'))).toEqual([]));
  });

  it('stop serving fictional profiles when they are switched off', async () => {
    const first = await start(30);
    await first.whenReady();
    await first.close();
    const leads = await start(0);
    await until(() => expect(logged('no profiles to search')).toHaveLength(1));
    expect(leads.status()).toMatchObject({ ready: true, synthetic: false, profiles: 0 });
    expect(await leads.search({ limit: 1 }, { signal })).toEqual([]);
  });

  it('continue with the former profiles when new ones cannot be opened', async () => {
    await take(marked('old'));
    const leads = await start();
    await leads.whenReady();
    const manifest = readManifest(folder)!;
    writeManifest(folder, { ...manifest, generation: 'broken', base: { file: 'base-none.db', profiles: 1 } });
    await until(() => expect(logged('cannot be opened')).toHaveLength(1));
    expect(await namesFound(leads)).toEqual(['old']);
    await take(marked('new'), 'replace');
    await until(async () => expect(await namesFound(leads)).toEqual(['new']));
  });

  it('serve real profiles that another version of Unicode folded, and warn until the next import', async () => {
    await take(marked('real'));
    foldOtherwise(baseFile());
    const leads = await start(40);
    await leads.whenReady();
    expect(await namesFound(leads)).toEqual(['real']);
    expect(logged('another version indexed the profiles')).toHaveLength(1);
    await take(marked('new'));
    await until(async () => expect(await namesFound(leads)).toEqual(['new']));
    expect(logged('another version indexed the profiles')).toHaveLength(1);
  });
});

describe('the embedded leads with damaged real profiles', () => {
  const harm: Record<string, () => void> = {
    'a segment is cut off': () => truncateSync(baseFile(), Math.floor(statSync(baseFile()).size / 3)),
    'a segment is empty': () => truncateSync(baseFile(), 0),
    'a segment is missing': () => rmSync(baseFile()),
    'the manifest is something else': () => writeFileSync(join(folder, 'current.json'), 'not a manifest'),
  };
  it.each(Object.keys(harm))('serve nothing, replace nothing, and say what to do (%s)', async (name) => {
    await take(marked('real'));
    harm[name]!();
    const files = readdirSync(folder);
    const leads = await start(30);
    await until(() => expect(logged('no profiles to search')).toHaveLength(1));
    expect(leads.status()).toMatchObject({ ready: false });
    expect(logged('no profiles to search')).toMatchObject([
      { reason: expect.stringMatching(/backup.*leads import --replace/) },
    ]);
    expect(readdirSync(folder)).toEqual(files);
    await take(marked('again'), 'replace');
    await leads.whenReady();
    expect(await namesFound(leads)).toEqual(['again']);
  });
});

describe('the embedded leads while a backup is restored', () => {
  const backup = (): string => join(home, 'backup');
  const takeAndBackUp = async (): Promise<void> => {
    await take(marked('real'));
    cpSync(folder, backup(), { recursive: true });
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
    await until(() => expect(logged('no profiles to search')).toHaveLength(1));
    expect(logged('no profiles to search')).toMatchObject([
      { reason: expect.stringContaining('no current.json') },
    ]);
    expect(leads.status()).toMatchObject({ ready: false, synthetic: false });
    restoreManifest();
    await leads.whenReady();
    expect(await namesFound(leads)).toEqual(['real']);
    expectNothingInvented();
  });

  it('wait for damaged real profiles that are copied back piece by piece', async () => {
    await takeAndBackUp();
    const restored = baseFile();
    const bytes = readFileSync(restored);
    truncateSync(restored, 5_000);
    const leads = await start(30);
    await until(() => expect(logged('no profiles to search')).toHaveLength(1));
    rmSync(manifestAt(folder));
    rmSync(restored);
    await until(() => expect(logged('no profiles to search')).toHaveLength(2));
    const half = Math.floor(bytes.length / 2);
    writeFileSync(restored, bytes.subarray(0, half));
    await until(() => expect(logged('no profiles to search')).toHaveLength(3));
    appendFileSync(restored, bytes.subarray(half));
    restoreManifest();
    await leads.whenReady();
    expect(await namesFound(leads)).toEqual(['real']);
    expect(logged('no profiles to search')).toMatchObject([
      { reason: expect.stringContaining('damaged') },
      { reason: expect.stringContaining('are gone') },
      { reason: expect.stringContaining('no current.json') },
    ]);
    expectNothingInvented();
  });

  it('notice a restored file with the size and times of the damaged one', async () => {
    await take(marked('real'));
    const bytes = readFileSync(baseFile());
    const write = (content: Buffer): void => {
      writeFileSync(baseFile(), content);
      utimesSync(baseFile(), 1_700_000_000, 1_700_000_000);
    };
    write(Buffer.alloc(bytes.length));
    const leads = await start(30);
    await until(() => expect(logged('no profiles to search')).toHaveLength(1));
    write(bytes);
    await leads.whenReady();
    expect(await namesFound(leads)).toEqual(['real']);
  });

  it('continue with real profiles whose folder was removed, and wait for them after losing them', async () => {
    await takeAndBackUp();
    const leads = await start(30);
    await leads.whenReady();
    rmSync(folder, { recursive: true });
    expect(await namesFound(leads)).toEqual(['real']);
    await threads[0]!.terminate();
    await until(() => expect(logged('no profiles to search')).toHaveLength(1));
    mkdirSync(folder);
    renameSync(backup(), folder);
    await leads.whenReady();
    expect(await namesFound(leads)).toEqual(['real']);
    expectNothingInvented();
  });

  it.each(['a file that is missing', 'nothing that can be read'])(
    'give fictional profiles up for a manifest of real ones that names %s',
    async (what) => {
      await takeAndBackUp();
      rmSync(folder, { recursive: true });
      const leads = await start(30);
      await leads.whenReady();
      expect(leads.status()).toMatchObject({ synthetic: true });
      if (what === 'a file that is missing') restoreManifest();
      else writeFileSync(manifestAt(folder), 'half a mani');
      await until(() => expect(logged('no profiles to search')).toHaveLength(1));
      expect(leads.status()).toMatchObject({ ready: false });
      cpSync(backup(), folder, { recursive: true });
      await leads.whenReady();
      expect(await namesFound(leads)).toEqual(['real']);
    },
  );

  it('do not replace real profiles by fictional ones', async () => {
    await takeAndBackUp();
    const leads = await start(30);
    await leads.whenReady();
    writeManifest(folder, { ...readManifest(folder)!, synthetic: true, generation: 'other' });
    await until(() => expect(logged('cannot be opened')).toHaveLength(1));
    expect(leads.status()).toMatchObject({ ready: true, synthetic: false });
  });

  const restore: Record<string, () => void> = {
    'as a folder in the place of the old one': () => {
      renameSync(folder, join(home, 'old'));
      renameSync(backup(), folder);
    },
    'file by file, the manifest first': () => {
      restoreManifest();
      const name = readManifest(backup())!.base.file;
      rmSync(join(folder, name));
      copyFileSync(join(backup(), name), join(folder, name));
    },
    'over the files that are there': () => cpSync(backup(), folder, { recursive: true }),
  };
  it.each(Object.keys(restore))('search it, put %s', async (how) => {
    await takeAndBackUp();
    const leads = await start(30);
    await leads.whenReady();
    await (await openEmbeddedKeeper({ folder })).forget(['user0'], { signal });
    await until(() => expect(leads.status().profiles).toBe(19));
    restore[how]!();
    await until(async () => {
      const [first] = await leads.search({ limit: 1 }, { signal });
      expect(first?.username).toBe('user0');
    });
    expect(leads.status()).toMatchObject({ ready: true, profiles: 20 });
  });
});
