import { hash } from 'node:crypto';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createS3Client, defaultS3Limits, toS3Body } from '../../src/http/s3/s3-client.ts';
import type { S3Values } from '../../src/http/s3/s3-settings.ts';
import { openForgottenPeople, type ForgottenPeople } from '../../src/leads/forgotten-people.ts';
import type { FormerPlace } from '../../src/leads/leads-settings.ts';
import { moveForgottenLists } from '../../src/leads/move-forgotten-list.ts';
import { buildFictional } from '../../src/leads/sqlite/build-fictional.ts';
import { silentLog } from '../../src/kit/log.ts';
import { startS3Server } from '../media/s3-server.ts';
import { testEngines, type TestStore } from '../store/open-test-store.ts';

/**
 * Made by the version of November 2026: in `leads`, "Anna", "bert.b", "zoë" and "restored" were forgotten, and the last one
 * restored; in `place`, the shared profiles of a fleet, "carl" and "bert.b". `leads-shared` has the record of its copy.
 */
const madeByOldVersion = join(import.meta.dirname, 'old-lists');
const placeList = 'forgotten-036fedc509e3acb3.db';
const everybody = ['ANNA', 'Bert.B', 'carl', 'nobody', 'restored', 'zoë'];

const { signal } = new AbortController();
const noS3: S3Values = {
  S3_ENDPOINT: undefined,
  S3_REGION: 'us-east-1',
  S3_ACCESS_KEY_ID: undefined,
  S3_SECRET_ACCESS_KEY: undefined,
};

/** The names and bytes of all files below a folder. */
const contentOf = async (folder: string): Promise<Map<string, string>> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  return new Map(await Promise.all(files.map(async (file) => [file, await readFile(file, 'hex')] as const)));
};

const runSql = (file: string, sql: string): void => {
  const database = new DatabaseSync(file);
  database.exec(sql);
  database.close();
};

/** Writes or changes a list as earlier versions did. */
const addToOldList = (file: string, names: readonly string[]): void => {
  const database = new DatabaseSync(file);
  database.exec(`BEGIN;
    CREATE TABLE IF NOT EXISTS salt (id INTEGER PRIMARY KEY CHECK (id = 1), bytes BLOB NOT NULL) STRICT;
    CREATE TABLE IF NOT EXISTS people (digest BLOB PRIMARY KEY) STRICT, WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS tally (
      id INTEGER PRIMARY KEY CHECK (id = 1), people INTEGER NOT NULL, digests BLOB NOT NULL) STRICT;
    INSERT OR IGNORE INTO salt VALUES (1, randomblob(16))`);
  const salt = String(database.prepare('SELECT hex(bytes) AS hex FROM salt').get()?.['hex']);
  const insert = database.prepare('INSERT OR IGNORE INTO people VALUES (?)');
  for (const name of names) insert.run(hash('sha256', `${salt} ${name}`, 'buffer'));
  const sum = hash('sha256', salt, 'buffer');
  const digests = database.prepare('SELECT digest FROM people').all();
  for (const { digest } of digests)
    for (const [index, byte] of (digest as Uint8Array).entries()) sum[index] = (sum[index] ?? 0) ^ byte;
  database.prepare('INSERT OR REPLACE INTO tally VALUES (1, ?, ?)').run(digests.length, sum);
  database.exec('COMMIT');
  database.close();
};

describe.each(testEngines())('the lists of earlier versions, in a store on $kind,', ({ create }) => {
  let data: TestStore;
  let folder: string;
  let dataDir: string;
  beforeEach(async () => {
    data = await create();
    folder = await mkdtemp(join(tmpdir(), 'causeway-move-'));
    dataDir = join(folder, 'data');
    await mkdir(dataDir);
  });
  afterEach(async () => {
    await data.remove();
    await rm(folder, { recursive: true, force: true });
  });

  /** Lays files of the earlier version. */
  const lay = async (name: string, target = join(dataDir, name)): Promise<string> => {
    await cp(join(madeByOldVersion, name), target, { recursive: true });
    return target;
  };
  const moveFrom = (formerPlace: FormerPlace | null): Promise<{ moved: number }> =>
    moveForgottenLists({ dataDir, formerPlace }, data.store);
  const move = (): Promise<{ moved: number }> => moveFrom(null);
  /** Takes over the list of a place as well. Resolves with the refusal of the place, and how many people came. */
  const moveWith = async (formerPlace: FormerPlace | null): Promise<number> => {
    const before = await data.store.countForgotten(undefined);
    await expect(moveFrom(formerPlace)).rejects.toThrow(
      /^LEADS_URL: gateways share profiles in PostgreSQL .*is taken over: unset it/,
    );
    return (await data.store.countForgotten(undefined)) - before;
  };
  const openPeople = (): Promise<ForgottenPeople> => openForgottenPeople(data.store);
  const found = async (): Promise<string[]> => [...(await (await openPeople()).find(everybody, { signal }))];
  const isEmpty = async (): Promise<boolean> => (await data.store.countForgotten(undefined)) === 0;

  it('are taken over as a whole, and stay as they are', async () => {
    const leads = await lay('leads');
    const before = await contentOf(folder);
    expect(await move()).toEqual({ moved: 3 });
    expect(await found()).toEqual(['ANNA', 'Bert.B', 'zoë']);
    expect(await contentOf(folder)).toEqual(before);
    const { forgotten } = JSON.parse(await readFile(join(leads, 'current.json'), 'utf8'));
    const { ids, includes } = await (await openPeople()).read();
    expect(ids).toEqual([forgotten]);
    expect(everybody.filter(includes)).toEqual(['ANNA', 'Bert.B', 'zoë']);
  });

  it('are taken over once, so that people who were restored since stay restored', async () => {
    await lay('leads');
    const people = await openPeople();
    await people.add(['carl']);
    await move();
    expect(await people.remove(['zoë', 'carl'])).toBe(2);
    expect(await move()).toEqual({ moved: 0 });
    expect(await found()).toEqual(['ANNA', 'Bert.B']);
  });

  it('are taken over again when the old version has changed them', async () => {
    const file = join(await lay('leads'), 'forgotten.db');
    await move();
    addToOldList(file, ['carl']);
    expect(await move()).toEqual({ moved: 4 });
    expect(await found()).toEqual(['ANNA', 'Bert.B', 'carl', 'zoë']);
    expect(await move()).toEqual({ moved: 0 });
  });

  it('lose nobody when the process ends in the middle', async () => {
    await mkdir(join(dataDir, 'leads'));
    const names = Array.from({ length: 7_000 }, (_, index) => `user_${index}`);
    addToOldList(join(dataDir, 'leads', 'forgotten.db'), names);
    let calls = 0;
    const dying = {
      ...data.store,
      addForgotten: async (input: Parameters<typeof data.store.addForgotten>[0]) => {
        calls += 1;
        if (calls > 2) throw new Error('killed');
        return data.store.addForgotten(input);
      },
    };
    await expect(moveForgottenLists({ dataDir, formerPlace: null }, dying)).rejects.toThrow('killed');
    expect(await data.store.countForgotten(undefined)).toBeGreaterThan(0);
    expect(await data.store.countForgotten(undefined)).toBeLessThan(7_000);
    // A damaged list that was taken over in part is still needed.
    const file = join(dataDir, 'leads', 'forgotten.db');
    const good = await readFile(file);
    await writeFile(file, good.subarray(0, 8_192));
    await expect(move()).rejects.toMatchObject({ problem: 'damaged' });
    await writeFile(file, good);
    expect(await move()).toEqual({ moved: 7_000 });
    expect((await (await openPeople()).find(names, { signal })).size).toBe(7_000);
    expect(await data.store.countForgotten(undefined)).toBe(7_000);
  });

  it('are taken over from versions that kept no tally, and named no list', async () => {
    const leads = await lay('leads');
    await rm(join(leads, 'current.json'));
    runSql(join(leads, 'forgotten.db'), 'DROP TABLE tally');
    expect(await move()).toEqual({ moved: 3 });
    expect(await move()).toEqual({ moved: 0 });
  });

  it('are those of the shared profiles, too, in a folder', async () => {
    await lay('leads');
    const place = await lay('place', join(folder, 'place'));
    const before = await contentOf(folder);
    expect(await moveWith({ url: place, values: noS3 })).toBe(5);
    expect(await found()).toEqual(['ANNA', 'Bert.B', 'carl', 'zoë']);
    expect(await moveWith({ url: pathToFileURL(place).href, values: noS3 })).toBe(0);
    expect((await (await openPeople()).read()).ids).toHaveLength(2);
    expect(await contentOf(folder)).toEqual(before);
  });

  it('are those of the shared profiles, too, in a bucket', async () => {
    const s3 = await startS3Server();
    onTestFinished(() => s3.stop());
    const { bucket, prefix, endpoint, region, accessKeyId, secretAccessKey } = s3.config;
    const place = {
      url: `s3://${bucket}/${prefix}`,
      values: {
        S3_ENDPOINT: endpoint,
        S3_REGION: region,
        S3_ACCESS_KEY_ID: accessKeyId,
        S3_SECRET_ACCESS_KEY: secretAccessKey,
      },
    };
    expect(await moveWith(place)).toBe(0);
    const client = createS3Client(s3.config, defaultS3Limits);
    const put = async (name: string): Promise<void> => {
      const body = await toS3Body(await readFile(join(madeByOldVersion, 'place', name)));
      await client.call({ method: 'PUT', key: prefix + name, body });
    };
    await put('current.json');
    await expect(moveFrom(place)).rejects.toMatchObject({ problem: 'damaged' });
    await put(placeList);
    await client.close();
    expect(await moveWith(place)).toBe(2);
    expect(await found()).toEqual(['Bert.B', 'carl']);
  });

  it('are those of the copies of shared profiles, too', async () => {
    const shared = await lay('leads-shared');
    await cp(join(madeByOldVersion, 'place', placeList), join(shared, placeList));
    const work = join(dataDir, 'leads-changes', 'profiles');
    await mkdir(work, { recursive: true });
    await cp(join(shared, placeList), join(work, 'forgotten.db'));
    expect(await move()).toEqual({ moved: 2 });
    // Noted on this machine, and not published any more.
    addToOldList(join(work, 'forgotten.db'), ['zoë']);
    expect(await move()).toEqual({ moved: 3 });
    expect(await found()).toEqual(['Bert.B', 'carl', 'zoë']);
    expect(await move()).toEqual({ moved: 0 });
  });

  it('are not needed where a copy is lost, after the list was taken over from its place', async () => {
    const shared = await lay('leads-shared');
    await expect(move()).rejects.toThrow(`${join(shared, placeList)} cannot be taken over`);
    const place = await lay('place', join(folder, 'place'));
    expect(await moveWith({ url: place, values: noS3 })).toBe(2);
    expect(await move()).toEqual({ moved: 0 });
  });

  it('are none where nobody was ever forgotten', async () => {
    expect(await move()).toEqual({ moved: 0 });
    const place = join(folder, 'place');
    await mkdir(place);
    expect(await moveWith({ url: place, values: noS3 })).toBe(0);
    await mkdir(join(dataDir, 'leads'));
    await writeFile(join(dataDir, 'leads', 'current.json'), '{"format":1,"crc32":2938028857}');
    expect(await move()).toEqual({ moved: 0 });
  });

  it.each([
    ['missing', (file: string) => rm(file), /ENOENT/],
    ['empty', (file: string) => writeFile(file, ''), /it is empty/],
    ['no list', (file: string) => writeFile(file, 'some text'.repeat(1_000)), /not a database/],
    [
      'another one',
      async (file: string) => {
        await rm(file);
        addToOldList(file, ['anna']);
      },
      /another list is in its place/,
    ],
    [
      'without somebody',
      async (file: string) =>
        runSql(file, 'DELETE FROM people WHERE digest = (SELECT min(digest) FROM people)'),
      /it is not as it was written/,
    ],
    [
      'with somebody in the place of another',
      async (file: string) =>
        runSql(
          file,
          'UPDATE people SET digest = zeroblob(32) WHERE digest = (SELECT min(digest) FROM people)',
        ),
      /it is not as it was written/,
    ],
  ])('are refused if one that is named is %s', async (_, damage, reason) => {
    const leads = await lay('leads');
    await damage(join(leads, 'forgotten.db'));
    await expect(move()).rejects.toMatchObject({
      name: 'LeadIndexError',
      problem: 'damaged',
      message: expect.toSatisfy((text: string) => reason.test(text) && text.includes('restore it')),
    });
    expect(await isEmpty()).toBe(true);
  });

  it('are refused if one is missing that a damaged manifest may name', async () => {
    const leads = await lay('leads');
    await rm(join(leads, 'forgotten.db'));
    await writeFile(join(leads, 'current.json'), '{');
    await expect(move()).rejects.toMatchObject({ problem: 'damaged' });
  });

  it('are none where a damaged manifest is beside fictional profiles of this version alone', async () => {
    const leads = join(dataDir, 'leads');
    await mkdir(leads);
    await buildFictional(leads, { set: { seed: 1, profiles: 30 }, log: silentLog, signal });
    await writeFile(join(leads, 'current.json'), '{');
    expect(await move()).toEqual({ moved: 0 });
    // A list that is there is taken over, whatever the manifest says.
    await cp(join(madeByOldVersion, 'leads', 'forgotten.db'), join(leads, 'forgotten.db'));
    expect((await move()).moved).toBeGreaterThan(0);
  });

  it.each(['profiles-0123.db', 'fictional-0123.db', 'base-481f8ee105ac2260.db'])(
    'are refused if a damaged manifest is beside a file such as %s, which an earlier version may have left',
    async (name) => {
      const leads = join(dataDir, 'leads');
      await mkdir(leads);
      await buildFictional(leads, { set: { seed: 1, profiles: 30 }, log: silentLog, signal });
      await writeFile(join(leads, 'current.json'), '{');
      runSql(join(leads, name), 'CREATE TABLE people (digest BLOB PRIMARY KEY) STRICT');
      await expect(move()).rejects.toMatchObject({ problem: 'damaged' });
    },
  );

  it('are refused while their place is away, or its manifest cannot be read', async () => {
    const place = { url: join(folder, 'place'), values: noS3 };
    await expect(moveFrom(place)).rejects.toThrow(`${place.url} (LEADS_URL) cannot be taken over (ENOENT`);
    await mkdir(place.url);
    await writeFile(join(place.url, 'current.json'), '{"format":2}');
    await expect(moveFrom(place)).rejects.toMatchObject({ problem: 'damaged' });
    await expect(moveFrom({ url: 's3://some-bucket', values: noS3 })).rejects.toThrow(
      'S3_ACCESS_KEY_ID: must be set',
    );
  });
});
