import { createWriteStream, existsSync, readFileSync, statSync } from 'node:fs';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { z } from 'zod';
import { createS3Client, defaultS3Limits } from '../http/s3/s3-client.ts';
import { nullWhenMissing } from '../http/s3/s3-error.ts';
import { readS3Config, s3Url, type S3Config, type S3Values } from '../http/s3/s3-settings.ts';
import { ConfigError } from '../kit/errors.ts';
import { ignoreEnoent } from '../kit/ignore-enoent.ts';
import type { Store } from '../store/store.ts';
import { forgottenBatch, forgottenListId } from './forgotten-people.ts';
import { LeadKeeperError } from './lead-keeper.ts';

export interface OldForgottenLists {
  dataDir: string;
  /** LEADS_URL of earlier versions, with the settings of its bucket; null if it is not set. */
  formerPlace: { url: string; values: S3Values } | null;
}

type MoveStore = Pick<Store, 'readForgottenLists' | 'addForgottenList' | 'addForgotten' | 'noteMovedList'>;

/** A list that is there, or that a manifest names. */
interface NamedList {
  file: string;
  /** The id of the list; null if it may be any. */
  id: string | null;
}

/**
 * Takes over the lists of forgotten people of earlier versions, which stay as they are: the list of the profiles in
 * `dataDir`, that of the place of a fleet, and the copies of it on this machine. A list that has not changed since it was
 * taken over is left alone, so people who were restored since stay restored. Resolves with the number of people in the
 * others. Rejects with LeadKeeperError if a list is damaged or missing that was never taken over, and with ConfigError
 * where a place is set, when its list is taken over: profiles are not read from there any more.
 */
export const moveForgottenLists = async (
  { dataDir, formerPlace: place }: OldForgottenLists,
  store: MoveStore,
): Promise<{ moved: number }> => {
  let moved = 0;
  const move = async (old: OldList | null): Promise<void> => {
    if (old !== null) moved += await takeOver(old, store);
  };
  if (place !== null) await move(await readFromPlace(place));
  for (const named of [
    findInFolder(join(dataDir, 'leads')),
    findInFolder(join(dataDir, 'leads-changes', 'profiles')),
    findInCopy(join(dataDir, 'leads-shared')),
  ])
    if (named !== null) await move(await readUnlessMoved(named, store));
  if (place !== null)
    throw new ConfigError(
      'LEADS_URL: gateways share profiles in PostgreSQL (DATABASE_URL) or in a search service (LEADS_SOURCES=http); ' +
        'the list of forgotten people there is taken over: unset it and import the profiles again (docs/operators-profiles.md)',
    );
  return { moved };
};

const takeOver = async ({ salt, people, digests, ...old }: OldList, store: MoveStore): Promise<number> => {
  const { lists } = await store.readForgottenLists(undefined);
  const id = forgottenListId(salt);
  const tally = `${people}:${old.tally.toString('hex')}`;
  if (lists.some((list) => list.id === id && list.moved.includes(tally))) return 0;
  await store.addForgottenList({ id, salt, onlyFirst: false });
  for (let at = 0; at < people; at += forgottenBatch)
    await store.addForgotten({ list: id, digests: hexDigests(digests, at, at + forgottenBatch) });
  // Until this is noted, the whole list is taken over again.
  await store.noteMovedList({ id, tally });
  return people;
};

const hexDigests = (digests: Buffer, from: number, to: number): string[] =>
  digests.toString('hex', from * digestBytes, to * digestBytes).match(/.{64}/g) ?? [];

/** Reads a list of this machine. Null if it cannot be read, and its people are in the store. */
const readUnlessMoved = async (named: NamedList, store: MoveStore): Promise<OldList | null> => {
  try {
    return readOldList(named);
  } catch (cause) {
    const { lists } = await store.readForgottenLists(undefined);
    if (lists.some(({ id, moved }) => id === named.id && moved.length > 0)) return null;
    throw cannotTakeOver(named.file, cause);
  }
};

/** The list of a folder of profiles. */
const findInFolder = (folder: string): NamedList | null => {
  const file = join(folder, 'forgotten.db');
  const { isNamed, id } = readManifest(join(folder, 'current.json'));
  return isNamed || isThere(file) ? { file, id } : null;
};

const isThere = (file: string): boolean => {
  try {
    return statSync(file, { throwIfNoEntry: false }) !== undefined;
  } catch {
    // Reading it tells why it cannot be reached.
    return true;
  }
};

const readManifest = (file: string): { isNamed: boolean; id: string | null } => {
  try {
    const manifest = folderManifest.nullable().parse(readJson(file));
    const id = manifest?.format === 1 ? (manifest.forgotten ?? null) : null;
    return { isNamed: id !== null, id };
  } catch {
    // It may have named any list.
    return { isNamed: true, id: null };
  }
};

const readJson = (file: string): unknown =>
  existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : null;

/** Of format 1, whose first versions named no list. Later ones name a list of the store. */
const folderManifest = z.object({ format: z.int(), forgotten: z.string().nullish() });

/** The manifest of a place, of which a copy has a record. */
const placeManifest = z.object({
  format: z.literal(1),
  forgotten: z
    .object({ name: z.string().regex(/^forgotten-[0-9a-f]{16}\.db$/), mark: z.string() })
    .nullable(),
});

const listOf = (manifest: unknown): { name: string; mark: string } | null => {
  const { data } = placeManifest.safeParse(manifest);
  if (data === undefined) throw new Error('its manifest is damaged, or another version wrote it');
  return data.forgotten;
};

/** The copy that a gateway has of the list of a place. */
const findInCopy = (folder: string): NamedList | null => {
  const file = join(folder, 'place.json');
  try {
    const record = z.object({ manifest: z.unknown() }).nullable().parse(readJson(file));
    const list = record === null ? null : listOf(record.manifest);
    return list && { file: join(folder, list.name), id: list.mark };
  } catch (cause) {
    throw cannotTakeOver(file, cause);
  }
};

type Place = NonNullable<OldForgottenLists['formerPlace']>;

/** Reads the list that the place of a fleet names. */
const readFromPlace = async ({ url, values }: Place): Promise<OldList | null> => {
  try {
    return await (s3Url.test(url)
      ? readFromBucket(readS3Config('LEADS_URL', url, values))
      : readFromMount(url.startsWith('file:') ? fileURLToPath(url) : resolve(url)));
  } catch (cause) {
    throw cause instanceof ConfigError ? cause : cannotTakeOver(`${url} (LEADS_URL)`, cause);
  }
};

const readFromMount = async (folder: string): Promise<OldList | null> => {
  // A missing folder is a disk that is not mounted.
  await stat(folder);
  const text = await ignoreEnoent(readFile(join(folder, 'current.json'), 'utf8'));
  const list = text === null ? null : listOf(JSON.parse(text));
  return list && readOldList({ file: join(folder, list.name), id: list.mark });
};

const readFromBucket = async (config: S3Config): Promise<OldList | null> => {
  const client = createS3Client(config, defaultS3Limits);
  const folder = await mkdtemp(join(tmpdir(), 'causeway-forgotten-'));
  const keyOf = (name: string): string => config.prefix + name;
  try {
    const found = await nullWhenMissing(client.call({ method: 'GET', key: keyOf('current.json') }));
    const list = found === null ? null : listOf(JSON.parse(found.text));
    if (list === null) return null;
    const file = join(folder, list.name);
    const { body } = await client.open({ method: 'GET', key: keyOf(list.name) });
    await pipeline(body, createWriteStream(file));
    return readOldList({ file, id: list.mark });
  } finally {
    await client.close();
    await rm(folder, { recursive: true, force: true });
  }
};

interface OldList {
  /** In hexadecimal, as it was digested. */
  salt: string;
  people: number;
  /** One behind the other. */
  digests: Buffer;
  /** The sum without carry of all digests and the id. */
  tally: Buffer;
}

const digestBytes = 32;

/** Reads a list, and checks that it is whole and the one that is named. */
const readOldList = ({ file, id }: NamedList): OldList => {
  if (statSync(file).size === 0) throw new Error('it is empty');
  const url = pathToFileURL(file);
  // Writable, because SQLite may have to undo a change that a crash interrupted.
  url.searchParams.set('mode', 'rw');
  const database = new DatabaseSync(url, { timeout: 5_000 });
  try {
    database.exec('BEGIN');
    const salt = database.prepare('SELECT hex(bytes) AS hex FROM salt').get()?.['hex'];
    if (typeof salt !== 'string') throw new Error('it has no salt');
    if (id !== null && forgottenListId(salt) !== id) throw new Error('another list is in its place');
    const people = Number(database.prepare('SELECT count(*) AS people FROM people').get()?.['people']);
    const digests = Buffer.alloc(people * digestBytes);
    const tally = Buffer.from(forgottenListId(salt), 'hex');
    let at = 0;
    for (const { digest } of database.prepare('SELECT digest FROM people').iterate())
      if (digest instanceof Uint8Array && digest.length === digestBytes) {
        digests.set(digest, at);
        at += digestBytes;
        for (let index = 0; index < digestBytes; index += 1)
          tally[index] = (tally[index] ?? 0) ^ (digest[index] ?? 0);
      }
    const stored = readTally(database);
    if (
      at !== digests.length ||
      (stored !== null && !(stored.people === people && tally.equals(stored.digests)))
    )
      throw new Error('it is not as it was written');
    return { salt, people, digests, tally };
  } finally {
    database.close();
  }
};

/** Null for the list of a version that wrote none. */
const readTally = (database: DatabaseSync): { people: number; digests: Uint8Array } | null => {
  if (database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'tally'").get() === undefined) return null;
  const row = database.prepare('SELECT people, digests FROM tally').get();
  if (row === undefined) return null;
  const { people, digests } = row;
  return { people: Number(people), digests: digests instanceof Uint8Array ? digests : new Uint8Array() };
};

const cannotTakeOver = (where: string, cause: unknown): LeadKeeperError => {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new LeadKeeperError(
    'damaged',
    `The list of people who asked to be forgotten in ${where} cannot be taken over (${reason}). Make it readable, or ` +
      'restore it from a backup, and try again. Until then nobody is let back in.',
    { cause },
  );
};
