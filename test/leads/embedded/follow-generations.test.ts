import { readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { readManifest, writeManifest } from '../../../src/leads/embedded/manifest.ts';
import { openEmbeddedKeeper } from '../../../src/leads/embedded/open-embedded-keeper.ts';
import { openEmbeddedLeads, type EmbeddedLeads } from '../../../src/leads/embedded/open-embedded-leads.ts';
import type { Lead } from '../../../src/leads/lead-source.ts';
import { buildLead } from '../build-lead.ts';
import { foldOtherwise } from './fold-otherwise.ts';
import { leadInputOf } from './lead-input-of.ts';

const signal = new AbortController().signal;

let folder: string;
let lines: { msg: string; reason?: string }[];
let open: EmbeddedLeads[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leads-'));
  lines = [];
  open = [];
});
afterEach(async () => {
  await Promise.all(open.map((leads) => leads.close()));
  await rm(folder, { recursive: true });
});

const start = async (syntheticProfiles = 0): Promise<EmbeddedLeads> => {
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const leads = await openEmbeddedLeads({ folder, syntheticProfiles, log });
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
  vi.waitFor(check, { timeout: 20_000, interval: 20 });
const baseFile = (): string => join(folder, readManifest(folder)!.base.file);
const namesFound = async (leads: EmbeddedLeads): Promise<string[]> => [
  ...new Set((await leads.search({ limit: 100 }, { signal })).map(({ full_name: name }) => name)),
];

describe('the embedded leads beside imports', () => {
  it('wait for the first one where no fictional profiles are wanted', async () => {
    const leads = await start();
    expect(leads.status()).toEqual({ ready: false, synthetic: false, profiles: 0, revision: 'none' });
    await expect(leads.search({ limit: 1 }, { signal })).rejects.toMatchObject({ code: 'upstream_error' });
    await take(marked('first'));
    await leads.whenReady();
    expect(await namesFound(leads)).toEqual(['first']);
    expect(leads.status()).toMatchObject({ ready: true, synthetic: false, profiles: 20 });
    expect(logged('no profiles to search')).toMatchObject([
      { reason: expect.stringContaining('leads import') },
    ]);
  });

  it('answer each search from one generation, and say which', async () => {
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
    expect(logged('other profiles')).toHaveLength(4);
  });

  it('find a person no more who asked to be forgotten', async () => {
    await take(marked('someone'));
    const leads = await start();
    await leads.whenReady();
    await (await openEmbeddedKeeper({ folder })).forget(['user0'], { signal });
    await until(() => expect(leads.status().profiles).toBe(19));
    const [first] = await leads.search({ limit: 1 }, { signal });
    expect(first?.username).toBe('user1');
  });

  it('leave their fictional profiles for real ones, and never take them back', async () => {
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

  it('give the building of fictional profiles up when real ones come first', async () => {
    const leads = await start(1_000_000);
    await until(() => expect(readdirSync(folder).some((name) => name.startsWith('building-'))).toBe(true));
    await take(marked('real'));
    await leads.whenReady();
    expect(await namesFound(leads)).toEqual(['real']);
    await until(() => expect(readdirSync(folder).filter((name) => name.startsWith('building-'))).toEqual([]));
  });

  it('serve no fictional profiles where none are wanted any more', async () => {
    const first = await start(30);
    await first.whenReady();
    await first.close();
    const leads = await start(0);
    await until(() => expect(logged('no profiles to search')).toHaveLength(1));
    expect(leads.status()).toMatchObject({ ready: false, synthetic: false });
  });

  it('search on in what they have when new profiles cannot be opened', async () => {
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

  it('index real profiles anew for another version of Unicode, and serve them meanwhile', async () => {
    await take(marked('real'));
    foldOtherwise(baseFile());
    const before = baseFile();
    const leads = await start(40);
    await leads.whenReady();
    expect(await namesFound(leads)).toEqual(['real']);
    const { revision } = leads.status();
    await until(() => expect(leads.status().revision).not.toBe(revision));
    expect(await namesFound(leads)).toEqual(['real']);
    expect(leads.status()).toMatchObject({ ready: true, synthetic: false, profiles: 20 });
    expect(baseFile()).not.toBe(before);
    expect(logged('another version of Unicode')).toHaveLength(1);
  });
});

it('leave profiles that a later version of Unicode folded to whoever runs that', async () => {
  await take(marked('real'));
  foldOtherwise(baseFile(), '999.0');
  const leads = await start(40);
  await leads.whenReady();
  const { revision } = leads.status();
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(await namesFound(leads)).toEqual(['real']);
  expect(leads.status().revision).toBe(revision);
  expect(logged('another version of Unicode')).toHaveLength(0);
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
