import { readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { nullWhenMissing } from '../http/s3/s3-client.ts';
import { readS3Config, s3Url, type S3Config } from '../http/s3/s3-settings.ts';
import { ConfigError } from '../kit/errors.ts';
import type { Store } from '../store/store.ts';
import { forgottenBatch, forgottenListId } from './forgotten-people.ts';
import { LeadIndexError } from './lead-index.ts';
import type { FormerPlace } from './leads-settings.ts';
import { openToRead } from './sqlite/profiles-file.ts';
import { hasOnlyFictional } from './sqlite/profiles-folder.ts';

/** A list that is there, or that a manifest names. */
interface NamedList {
  file: string;
  /** The id of the list; null if it may be any. */
  id: string | null;
}

interface OldList {
  /** In hexadecimal, as it was digested. */
  salt: string;
  digests: string[];
  /** The number of people, and the sum without carry of all digests and the id. */
  tally: string;
}

/**
 * Takes over the lists of forgotten people of earlier versions, which stay as they are: the list of the profiles in
 * `dataDir`, that of the place of a fleet, and the copies of it on this machine. A list that has not changed since it was
 * taken over is left alone, so people who were restored since stay restored. Resolves with the number of people in the
 * others. Rejects with LeadIndexError if a list is damaged or missing that was never taken over, and with ConfigError
 * where a place is set, when its list is taken over: profiles are not read from there any more.
 */
export const moveForgottenLists = async (
  { dataDir, formerPlace }: { dataDir: string; formerPlace: FormerPlace | null },
  store: Store,
): Promise<{ moved: number }> => {
  let moved = formerPlace === null ? 0 : await takeOver(await readFromPlace(formerPlace), store);
  for (const named of [
    findInFolder(join(dataDir, 'leads')),
    findInFolder(join(dataDir, 'leads-changes', 'profiles')),
    findInCopy(join(dataDir, 'leads-shared')),
  ])
    if (named !== null) moved += await takeOver(await readUnlessMoved(named, store), store);
  if (formerPlace !== null)
    throw new ConfigError(
      'LEADS_URL: gateways share profiles in PostgreSQL (DATABASE_URL) or in a search service (LEADS_SOURCES=http); ' +
        'the list of forgotten people there is taken over: unset it and import the profiles again (docs/operators-profiles.md)',
    );
  return { moved };
};

/** Resolves with the number of people that were taken over. */
const takeOver = async (list: OldList | null, store: Store): Promise<number> => {
  if (list === null) return 0;
  const { salt, digests, tally } = list;
  const { lists } = await store.readForgottenLists(undefined);
  const id = forgottenListId(salt);
  if (lists.some(({ id: known, moved }) => known === id && moved.includes(tally))) return 0;
  await store.addForgottenList({ id, salt, onlyFirst: false });
  for (let at = 0; at < digests.length; at += forgottenBatch)
    await store.addForgotten({ list: id, digests: digests.slice(at, at + forgottenBatch) });
  // Until this is noted, the whole list is taken over again.
  await store.noteMovedList({ id, tally });
  return digests.length;
};

/** Reads a list of this machine. Null if it cannot be read, and its people are in the store. */
const readUnlessMoved = async (named: NamedList, store: Store): Promise<OldList | null> => {
  try {
    return readOldList(named);
  } catch (cause) {
    const { lists } = await store.readForgottenLists(undefined);
    if (lists.some(({ id, moved }) => id === named.id && moved.length > 0)) return null;
    throw cannotTakeOver(named.file, cause);
  }
};

/** Of format 1, whose first versions named no list. Later formats name a list of the store. */
const folderManifest = z.object({ format: z.int(), forgotten: z.string().nullish() }).optional();

/** Finds the list of a folder of profiles. */
const findInFolder = (folder: string): NamedList | null => {
  const file = join(folder, 'forgotten.db');
  try {
    const manifest = folderManifest.parse(readJson(join(folder, 'current.json')));
    const id = manifest?.format === 1 ? (manifest.forgotten ?? null) : null;
    return id !== null || isThere(file) ? { file, id } : null;
  } catch {
    if (!isThere(file) && hasOnlyFictional(folder)) return null;
    // The manifest may have named any list. Reading the list tells why it cannot be reached.
    return { file, id: null };
  }
};

/** Throws unless it is certain. */
const isThere = (file: string): boolean => statSync(file, { throwIfNoEntry: false }) !== undefined;

/** Undefined without such a file. */
const readJson = (file: string): unknown =>
  isThere(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined;

const placeManifest = z.object({
  format: z.literal(1),
  forgotten: z
    .object({ name: z.string().regex(/^forgotten-[0-9a-f]{16}\.db$/), mark: z.string() })
    .nullable(),
});

const findInPlace = (folder: string, manifest: unknown): NamedList | null => {
  const { data } = placeManifest.safeParse(manifest);
  if (data === undefined) throw new Error('its manifest is damaged, or another version wrote it');
  return data.forgotten && { file: join(folder, data.forgotten.name), id: data.forgotten.mark };
};

/** The copy that a gateway has of a place records the manifest. */
const copyRecord = z.object({ manifest: z.unknown() });

const findInCopy = (folder: string): NamedList | null => {
  const file = join(folder, 'place.json');
  try {
    const record = readJson(file);
    return record === undefined ? null : findInPlace(folder, copyRecord.parse(record).manifest);
  } catch (cause) {
    throw cannotTakeOver(file, cause);
  }
};

/** Reads the list that the place of a fleet names. */
const readFromPlace = async ({ url, values }: FormerPlace): Promise<OldList | null> => {
  try {
    if (s3Url.test(url)) return await readFromBucket(readS3Config('LEADS_URL', url, values));
    const folder = url.startsWith('file:') ? fileURLToPath(url) : resolve(url);
    // A missing folder is a disk that is not mounted.
    statSync(folder);
    const manifest = readJson(join(folder, 'current.json'));
    const named = manifest === undefined ? null : findInPlace(folder, manifest);
    return named && readOldList(named);
  } catch (cause) {
    throw cause instanceof ConfigError ? cause : cannotTakeOver(`${url} (LEADS_URL)`, cause);
  }
};

const readFromBucket = async (config: S3Config): Promise<OldList | null> => {
  const { createS3Client, defaultS3Limits } = await import('../http/s3/s3-client.ts');
  const client = createS3Client(config, defaultS3Limits);
  const folder = await mkdtemp(join(tmpdir(), 'causeway-forgotten-'));
  try {
    const key = `${config.prefix}current.json`;
    const found = await nullWhenMissing(client.call({ method: 'GET', key }));
    const named = found && findInPlace(folder, JSON.parse(found.text));
    if (named === null) return null;
    const { body } = await client.open({ method: 'GET', key: config.prefix + basename(named.file) });
    await writeFile(named.file, body);
    return readOldList(named);
  } finally {
    await client.close();
    await rm(folder, { recursive: true, force: true });
  }
};

/** Reads a list, and checks that it is whole and the one that is named. */
const readOldList = ({ file, id }: NamedList): OldList => {
  if (statSync(file).size === 0) throw new Error('it is empty');
  using database = openToRead(file, { timeoutMs: 5_000 });
  const read = (sql: string): string[] =>
    Array.from(database.prepare(sql).iterate(), ({ value }) => String(value));
  database.exec('BEGIN');
  const [salt] = read('SELECT hex(bytes) AS value FROM salt');
  if (salt === undefined) throw new Error('it has no salt');
  const ownId = forgottenListId(salt);
  if (id !== null && ownId !== id) throw new Error('another list is in its place');
  const digests = read('SELECT lower(hex(digest)) AS value FROM people');
  const sum = digests.reduce((total, digest) => total ^ BigInt(`0x${digest}`), BigInt(`0x${ownId}`));
  const tally = `${digests.length}:${sum.toString(16).padStart(64, '0')}`;
  // The first versions wrote no tally.
  const [table] = read("SELECT name AS value FROM sqlite_schema WHERE name = 'tally'");
  const [written] = table ? read(`SELECT people || ':' || lower(hex(digests)) AS value FROM ${table}`) : [];
  if ((written ?? tally) !== tally || digests.some(({ length }) => length !== ownId.length))
    throw new Error('it is not as it was written');
  return { salt, digests, tally };
};

const cannotTakeOver = (where: string, cause: unknown): LeadIndexError => {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new LeadIndexError(
    'damaged',
    `The list of people who asked to be forgotten in ${where} cannot be taken over (${reason}). Make it readable, or ` +
      'restore it from a backup, and try again. Until then nobody is let back in.',
    { cause },
  );
};
