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
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { DiskRoom } from '../../../src/leads/embedded/changing/disk-room.ts';
import { publish } from '../../../src/leads/embedded/changing/publish.ts';
import { openForgottenPeople } from '../../../src/leads/embedded/forgotten-people.ts';
import type { KeeperLimits } from '../../../src/leads/embedded/keeper-limits.ts';
import { readManifest } from '../../../src/leads/embedded/manifest.ts';
import { openEmbeddedKeeper } from '../../../src/leads/embedded/open-embedded-keeper.ts';
import { writeSealedJson } from '../../../src/leads/embedded/sealed-json.ts';
import { compareLeads } from '../../../src/leads/query/lead-order.ts';
import type { ImportOutcome, ImportRequest } from '../../../src/leads/lead-keeper.ts';
import type { Lead } from '../../../src/leads/lead-source.ts';
import { generateLeads } from '../../../src/leads/synthetic/generate-leads.ts';
import { buildLead } from '../build-lead.ts';
import { foldOtherwise } from './fold-otherwise.ts';
import { leadInputOf, type LeadInputOptions } from './lead-input-of.ts';

vi.mock('../../../src/leads/embedded/changing/publish.ts', async (importOriginal) => {
  const { publish } =
    await importOriginal<typeof import('../../../src/leads/embedded/changing/publish.ts')>();
  return { publish: vi.fn(publish) };
});

const signal = new AbortController().signal;
const leads = [...generateLeads({ seed: 3, profiles: 300 })];

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leads-'));
});
afterEach(() => rm(folder, { recursive: true }));

const open = (limits: Partial<KeeperLimits> = {}) => openEmbeddedKeeper({ folder, limits });

const take = async (
  given: readonly Lead[],
  { mode = 'upsert', ...rest }: Partial<Omit<ImportRequest, 'input'>> & { input?: LeadInputOptions } = {},
  limits: Partial<KeeperLimits> = {},
): Promise<ImportOutcome> => {
  const keeper = await open(limits);
  return keeper.importLeads({ signal, mode, ...rest, input: leadInputOf(given, rest.input) });
};

const exported = async (): Promise<Lead[]> => Array.fromAsync((await open()).exportLeads({ signal }));
const stats = async () => (await open()).stats();
const filesLike = (pattern: RegExp): string[] => readdirSync(folder).filter((name) => pattern.test(name));
const segments = (): string[] => filesLike(/^(?:base|delta)-/).map((name) => join(folder, name));

describe('the keeper of an empty folder', () => {
  it('leaves no profile files when an import is stopped while writing them', async () => {
    const leaving = new AbortController();
    const keeper = await open();
    const importing = keeper.importLeads({
      mode: 'upsert',
      input: leadInputOf(leads),
      signal: leaving.signal,
      onProgress: ({ phase, total }) => {
        if (phase === 'indexing' && total !== null) leaving.abort(new Error('stopped by the operator'));
      },
    });
    await expect(importing).rejects.toThrow('stopped by the operator');
    expect(readdirSync(folder).filter((name) => /^(?:base|delta)-/.test(name))).toEqual([]);
    expect(await take(leads)).toMatchObject({ added: leads.length });
  });

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
      profiles: 300,
    });
    expect(await exported()).toEqual(leads.toSorted(compareLeads));
    const { bytes, updatedAt } = await stats();
    expect(bytes).toBeGreaterThan(statSync(segments()[0]!).size);
    expect(updatedAt).toBeGreaterThan(Date.now() - 60_000);
  });

  it('ignores an input without rows, even if it would replace everything', async () => {
    await take(leads);
    expect(await take([], { mode: 'replace' })).toMatchObject({ rows: 0, profiles: 300 });
    expect(await exported()).toHaveLength(300);
  });
});

describe('an import', () => {
  it('sorts more rows than fit into its memory, of many people and of one person with many rows', async () => {
    const again = Array.from({ length: 400 }, (_, index) =>
      buildLead({ username: index % 2 === 0 ? 'Again' : 'again', followers: index }),
    );
    const rows = leads.flatMap((lead, index) => [lead, ...again.slice(index, index + 2)]);
    const outcome = await take(rows, {}, { arenaBytes: 1_200 });
    expect(outcome).toMatchObject({ rows: 900, added: 301, repeated: 599 });
    expect(await exported()).toEqual([...leads, again[300]!].sort(compareLeads));
  });

  it('keeps a few changes beside the base, and rewrites it for many', async () => {
    await take(leads);
    const changed = leads.slice(0, 20).map((lead) => ({ ...lead, followers: lead.followers + 1 }));
    await take(changed, {}, { deltaProfiles: 20 });
    expect(filesLike(/^(?:base|delta|gone)-/)).toHaveLength(3);
    await take(changed.slice(0, 11), {}, { deltaProfiles: 20 });
    expect(filesLike(/^(?:base|delta|gone)-/)).toHaveLength(1);
    expect(await exported()).toEqual([...changed, ...leads.slice(20)].sort(compareLeads));
  });

  it('rewrites the base when another version of Unicode folded it', async () => {
    await take(leads);
    foldOtherwise(segments()[0]!);
    await take([buildLead()]);
    expect(filesLike(/^(?:base|delta|gone)-/)).toHaveLength(1);
    expect(await exported()).toHaveLength(301);
  });

  it('is refused during another change, which continues', async () => {
    const refusals: unknown[] = [];
    let isAsked = false;
    const outcome = await take(leads, {
      input: {
        beforeBatch: async () => {
          if (isAsked) return;
          isAsked = true;
          const other = await open();
          const changes = [take(leads), other.forget(['somebody'], { signal }), other.remember(['somebody'])];
          for (const change of await Promise.allSettled(changes)) refusals.push(change);
        },
      },
    });
    expect(refusals).toHaveLength(3);
    for (const refusal of refusals)
      expect(refusal).toMatchObject({ status: 'rejected', reason: { problem: 'busy' } });
    expect(outcome.profiles).toBe(300);
  });

  it('passes on the error of its input, and changes nothing', async () => {
    await take(leads.slice(0, 10));
    const beforeBatch = (rows: number): void => {
      if (rows >= 200) throw new Error('the file ends in the middle of a row');
    };
    await expect(take(leads, { input: { beforeBatch } })).rejects.toThrow('middle of a row');
    expect(await exported()).toHaveLength(10);
    expect(filesLike(/^staging$/)).toEqual([]);
  });

  it('removes the files of a killed import', async () => {
    await take(leads);
    mkdirSync(join(folder, 'staging'));
    writeFileSync(join(folder, 'staging/spool'), 'half written');
    for (const name of ['base-0123.db', 'base-0123.db-terms', 'delta-0123.db', 'gone-0123.bin'])
      writeFileSync(join(folder, name), 'half written');
    await take([buildLead()]);
    expect(filesLike(/0123|staging/)).toEqual([]);
    expect(await exported()).toHaveLength(301);
  });

  it('removes the unfinished copy of profiles that a gateway of an earlier version left behind', async () => {
    await take(leads);
    mkdirSync(join(folder, 'refolding-0123'));
    writeFileSync(join(folder, 'refolding-0123/spool'), 'somebody');
    await (await open()).forget(['nobody'], { signal });
    expect(filesLike(/refolding/)).toEqual([]);
  });

  it('changes no files if the manifest is missing and the input has no rows', async () => {
    await take(leads);
    rmSync(join(folder, 'current.json'));
    const files = segments();
    await take([]);
    expect(segments()).toEqual(files);
  });

  it('treats a missing list of rows as damage', async () => {
    await take(leads);
    await take(leads.slice(0, 5));
    rmSync(join(folder, filesLike(/^gone-/)[0]!));
    await expect(take([buildLead()])).rejects.toMatchObject({ problem: 'damaged' });
  });

  it('reports a full disk, and leaves no files', async () => {
    const full = Object.assign(new Error('write ENOSPC'), { code: 'ENOSPC' });
    const input = leadInputOf(leads, {
      beforeBatch: (done) => (done > 0 ? Promise.reject(full) : Promise.resolve()),
    });
    const keeper = await open();
    await expect(keeper.importLeads({ input, mode: 'upsert', signal })).rejects.toThrow(
      'not enough free space on the disk',
    );
    expect(filesLike(/staging/)).toEqual([]);
  });
});

describe('a keeper on a disk that fills up', () => {
  const roomy: DiskRoom = { free: 90e9, whole: 100e9 };
  const scarce: DiskRoom = { free: 255e6, whole: 100e9 };
  const importWith = async (readRoom: () => DiskRoom | null, input: LeadInputOptions = {}) => {
    const keeper = await openEmbeddedKeeper({ folder, readRoom });
    return keeper.importLeads({
      signal,
      mode: 'upsert',
      input: leadInputOf(leads, input),
    });
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
    expect(filesLike(/staging/)).toEqual([]);
    const small = { free: 41e6, whole: 800e6 };
    expect(await importWith(() => small)).toMatchObject({ profiles: 300 });
  });

  it('imports profiles if the free space is unknown', async () => {
    expect(await importWith(() => null)).toMatchObject({ profiles: 300 });
  });

  it('does not begin to index if that would fill the disk', async () => {
    const rooms = [roomy, scarce];
    await expect(importWith(() => rooms.shift() ?? scarce)).rejects.toThrow('not enough free space');
    expect(filesLike(/^(?:base|delta|gone)-/)).toEqual([]);
    expect(filesLike(/^staging$/)).toEqual([]);
  });

  it.each<{ what: string; before: readonly Lead[] }>([
    { what: 'the first profiles', before: [] },
    { what: 'more profiles', before: [buildLead()] },
  ])('frees its files when it cannot index ($what)', async ({ before }) => {
    await take(before);
    const files = filesLike(/^(?:base|delta|gone)-/);
    const disk = fillDisk((file) => /\/(?:base|delta)-/.test(file));
    const keeper = await open({ deltaProfiles: 0 });
    const request = { signal, mode: 'upsert' as const };
    await expect(keeper.importLeads({ ...request, input: leadInputOf(leads) })).rejects.toThrow(
      'not enough free space',
    );
    disk.clear();
    expect(filesLike(/^(?:base|delta|gone)-/)).toEqual(files);
    expect(filesLike(/^staging$/)).toEqual([]);
    await take(leads);
    expect(await exported()).toHaveLength(300 + before.length);
  });

  it('reports a full disk when forgetting people', async () => {
    await take(leads);
    fillDisk((file) => file.endsWith('forgotten.db'));
    const keeper = await open();
    await expect(keeper.forget(['ann'], { signal })).rejects.toThrow(
      `not enough free space on the disk of ${folder}`,
    );
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
    writeFileSync(join(folder, 'file'), '');
    await expect(openEmbeddedKeeper({ folder: at() })).rejects.toMatchObject({
      problem: 'failed',
      message: expect.stringMatching(says),
    });
  });

  it('refuses each change', async () => {
    mkdirSync(join(folder, 'keeper.lock'));
    const keeper = await open();
    const changes = [take(leads), keeper.forget(['ann'], { signal }), keeper.remember(['ann'])];
    for (const change of await Promise.allSettled(changes))
      expect(change).toMatchObject({ status: 'rejected', reason: { problem: 'failed' } });
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
  const harm: Record<string, () => void> = {
    'a segment is cut off': () => truncateSync(segments()[0]!, 5_000),
    'a segment is empty': () => truncateSync(segments()[0]!, 0),
    'the manifest is cut off': () => truncateSync(join(folder, 'current.json'), 20),
    'the manifest was changed': () => {
      const text = readFileSync(join(folder, 'current.json'), 'utf8');
      writeFileSync(join(folder, 'current.json'), text.replace('"profiles": 300', '"profiles": 301'));
    },
  };
  it.each(Object.keys(harm))('refuses to add to them, and accepts a replacement (%s)', async (name) => {
    await take(leads);
    harm[name]!();
    await expect(take([buildLead()])).rejects.toMatchObject({ problem: 'damaged' });
    await expect(exported()).rejects.toMatchObject({ problem: 'damaged' });
    expect(await take(leads.slice(0, 7), { mode: 'replace' })).toMatchObject({ profiles: 7 });
    expect(await exported()).toHaveLength(7);
    expect(filesLike(/^base-/)).toHaveLength(1);
  });

  it('replaces profiles that prove damaged only during reading', async () => {
    await take(leads);
    const database = new DatabaseSync(segments()[0]!);
    database.exec('UPDATE profiles SET crc = crc + 1 WHERE row = 200');
    database.close();
    await expect(exported()).rejects.toMatchObject({ problem: 'damaged' });
    expect(await take(leads.slice(0, 7), { mode: 'replace' })).toMatchObject({ profiles: 7 });
  });
});

describe('a person who asks to be forgotten', () => {
  const private_ = buildLead({
    username: 'Private.Person',
    full_name: 'Privata Personova',
    public_email: 'reach.me.privately@example.com',
  });
  const holdsPerson = (): string[] =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => statSync(join(folder, name)).isFile())
      .filter((name) => {
        const bytes = readFileSync(join(folder, name));
        return bytes.includes('reach.me.privately') || bytes.includes('Private.Person');
      });

  it.each<{ where: string; prepare: () => Promise<unknown> }>([
    { where: 'the base', prepare: () => take([...leads, private_]) },
    { where: 'a delta', prepare: async () => [await take(leads), await take([private_])] },
    {
      where: 'both',
      prepare: async () => [await take([...leads, private_]), await take([{ ...private_, followers: 5 }])],
    },
  ])('is erased from every file ($where)', async ({ prepare }) => {
    await prepare();
    expect(holdsPerson().length).toBeGreaterThan(0);
    const keeper = await open();
    expect(await keeper.forget(['private.person', 'PRIVATE.PERSON', 'nobody'], { signal })).toEqual({
      removed: 1,
    });
    expect(holdsPerson()).toEqual([]);
    expect(await exported()).toEqual(leads.toSorted(compareLeads));
    expect(await keeper.stats()).toMatchObject({ profiles: 300, forgotten: 2 });
    expect(await keeper.forget(['private.person'], { signal })).toEqual({ removed: 0 });
  });

  it('is left out by every import until restored', async () => {
    const keeper = await open();
    await keeper.forget(['private.person'], { signal });
    expect(await take([...leads, private_, private_])).toMatchObject({ added: 300, forgotten: 2 });
    expect(await keeper.remember(['PRIVATE.person', 'nobody'])).toEqual({ restored: 1 });
    expect(await take([private_])).toMatchObject({ added: 1, forgotten: 0, profiles: 301 });
  });

  it('has no row or list entry after the next import', async () => {
    await take([...leads, private_]);
    const keeper = await open();
    await keeper.forget([private_.username], { signal });
    const [before] = segments();
    await take([buildLead({ username: 'another' })]);
    expect(segments()).toHaveLength(1);
    expect(segments()).not.toContain(before);
    expect(holdsPerson()).toEqual([]);
    await take([buildLead({ username: 'one.more' })]);
    expect(segments()).toHaveLength(2);
  });

  it('is not found after an import if the deletion had only stored their digests', async () => {
    await take([...leads, private_]);
    const list = openForgottenPeople(folder);
    list.add([private_.username]);
    list.close();
    expect(await take([private_])).toMatchObject({ forgotten: 1, profiles: 300 });
    expect((await exported()).map(({ username }) => username)).not.toContain(private_.username);
  });

  it('is left out by the next import if the deletion ended before searches miss them', async () => {
    await take([...leads, private_]);
    const keeper = await open();
    vi.mocked(publish).mockImplementationOnce(() => {
      throw Object.assign(new Error('write ENOSPC'), { code: 'ENOSPC' });
    });
    await expect(keeper.forget([private_.username], { signal })).rejects.toThrow(
      /on the list, but searches may still find them\. Run the command again/,
    );
    expect(await stats()).toMatchObject({ profiles: 301, forgotten: 1 });
    expect(await take([buildLead({ username: 'another' })])).toMatchObject({ profiles: 301 });
    expect(holdsPerson()).toEqual([]);
    expect((await exported()).map(({ username }) => username)).not.toContain(private_.username);
    expect(await keeper.forget([private_.username], { signal })).toEqual({ removed: 0 });
  });

  it('is not put on the list if the manifest cannot note the deletion', async () => {
    await take([...leads, private_]);
    mkdirSync(join(folder, 'current.json.new'));
    const refusal = (await open()).forget([private_.username], { signal });
    await expect(refusal).rejects.toThrow(/^(?!.*on the list)/);
    expect(await stats()).toMatchObject({ profiles: 301, forgotten: 0 });
  });

  it('is not found if their profile could not be erased, and is erased by a second call', async () => {
    await take([...leads, private_]);
    const prevent = (sql: string): void => {
      const segment = new DatabaseSync(segments()[0]!);
      segment.exec(sql);
      segment.close();
    };
    prevent("CREATE TRIGGER no BEFORE UPDATE ON profiles BEGIN SELECT RAISE(ABORT, 'not now'); END");
    const keeper = await open();
    await expect(keeper.forget([private_.username], { signal })).rejects.toThrow(
      /erased \(not now\).*Searches no longer find/,
    );
    expect(await exported()).toHaveLength(300);
    prevent('DROP TRIGGER no');
    expect(holdsPerson()).not.toEqual([]);
    expect(await keeper.forget([private_.username], { signal })).toEqual({ removed: 0 });
    expect(holdsPerson()).toEqual([]);
  });

  it('is put on the list even if the profiles are damaged, and left out when the segment is back', async () => {
    await take([...leads, private_]);
    const [segment] = segments();
    const good = readFileSync(segment!);
    truncateSync(segment!, 5_000);
    const keeper = await open();
    await expect(keeper.forget([private_.username], { signal })).rejects.toMatchObject({
      problem: 'damaged',
      message: expect.stringContaining('on the list'),
    });
    writeFileSync(segment!, good);
    await take([buildLead({ username: 'another' })]);
    expect(holdsPerson()).toEqual([]);
  });

  it('does not change the generation if they had no profile', async () => {
    await take(leads);
    const { generation } = readManifest(folder)!;
    await (await open()).forget(['nobody'], { signal });
    expect(readManifest(folder)).toMatchObject({ generation, hasErased: false });
  });

  it('is stored only as a digest', async () => {
    const keeper = await open();
    await keeper.forget([private_.username], { signal });
    expect(readFileSync(join(folder, 'forgotten.db')).toString('latin1')).not.toMatch(/private/i);
  });
});

describe('a list of forgotten people', () => {
  const list = (): string => join(folder, 'forgotten.db');
  const damaged = { problem: 'damaged', message: expect.stringContaining('forgotten.db') };
  const inList = (sql: string): void => {
    const database = new DatabaseSync(list());
    database.exec(sql);
    database.close();
  };
  const flipDigest = (): void => {
    const database = new DatabaseSync(list());
    const digest = database.prepare('SELECT digest FROM people').get()?.['digest'] as Uint8Array;
    database.close();
    const bytes = readFileSync(list());
    bytes[bytes.indexOf(digest) + 31]! ^= 1;
    writeFileSync(list(), bytes);
  };
  const refusals = async (): Promise<unknown[]> => {
    const keeper = await open();
    const changes = [
      keeper.stats(),
      keeper.forget(['somebody'], { signal }),
      keeper.remember(['anna']),
      take([buildLead({ username: 'anna' })]),
      take([buildLead({ username: 'anna' })], { mode: 'replace' }),
    ];
    const settled = await Promise.allSettled(changes);
    return settled.map((one) => (one.status === 'rejected' ? one.reason : one));
  };

  it.each<{ what: string; harm: () => void }>([
    { what: 'is empty', harm: () => truncateSync(list(), 0) },
    { what: 'is missing', harm: () => rmSync(list()) },
    { what: 'is another one', harm: () => inList("UPDATE salt SET bytes = x'00'") },
    {
      what: 'is no database',
      harm: () => writeFileSync(list(), 'some text that is long enough'.repeat(100)),
    },
    { what: 'is cut off', harm: () => truncateSync(list(), 4_096) },
    { what: 'has somebody else in it', harm: flipDigest },
    { what: 'has lost somebody', harm: () => inList('DELETE FROM people') },
  ])('that $what keeps everything from being changed, until it is restored', async ({ harm }) => {
    await take(leads);
    await (await open()).forget(['anna', 'bert'], { signal });
    const good = readFileSync(list());
    harm();
    for (const refusal of await refusals()) expect(refusal).toMatchObject(damaged);
    expect(await exported()).toHaveLength(300);
    writeFileSync(list(), good);
    expect(await stats()).toMatchObject({ forgotten: 2 });
    expect(await take([buildLead({ username: 'anna' })])).toMatchObject({ forgotten: 1 });
  });

  it('that is missing is not replaced by an empty one if the manifest is unreadable too', async () => {
    await take(leads);
    truncateSync(join(folder, 'current.json'), 20);
    rmSync(list());
    await expect(take(leads, { mode: 'replace' })).rejects.toMatchObject(damaged);
  });

  it('of an earlier version remains valid, and is required after the next change', async () => {
    await take(leads);
    await (await open()).forget(['anna'], { signal });
    inList('DROP TABLE tally');
    const { forgotten: _, format: __, ...earlier } = readManifest(folder)!;
    writeSealedJson(join(folder, 'current.json'), { format: 1, ...earlier });
    expect(await stats()).toMatchObject({ forgotten: 1 });
    expect(await take([buildLead({ username: 'anna' })])).toMatchObject({ forgotten: 1 });
    rmSync(list());
    for (const refusal of await refusals()) expect(refusal).toMatchObject(damaged);
  });

  it('is required from the deletion on, even before the next import', async () => {
    await take(leads);
    rmSync(list());
    const { forgotten: _, ...earlier } = readManifest(folder)!;
    writeSealedJson(join(folder, 'current.json'), earlier);
    await (await open()).forget(['nobody'], { signal });
    rmSync(list());
    await expect(stats()).rejects.toMatchObject(damaged);
  });

  it('is intact after people were added, added again and removed', async () => {
    const keeper = await open();
    await keeper.forget(['anna', 'ANNA', 'bert'], { signal });
    await keeper.forget(['anna', 'carl'], { signal });
    await keeper.remember(['bert', 'bert', 'nobody']);
    expect(await stats()).toMatchObject({ forgotten: 2 });
  });

  it('and the profiles are reported correctly during imports', async () => {
    await take(leads);
    const staging = join(folder, 'staging/deep/er');
    const isOver = { now: false };
    const changing = (async () => {
      while (!isOver.now) {
        await mkdir(staging, { recursive: true });
        await rm(join(folder, 'staging'), { recursive: true });
      }
    })();
    for (let time = 0; time < 300; time += 1) expect(await stats()).toMatchObject({ profiles: 300 });
    isOver.now = true;
    await changing;
  });
});
