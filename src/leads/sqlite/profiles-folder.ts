import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { syncToDisk } from '../../kit/files.ts';
import { busyError, profileSet } from '../lead-index.ts';
import { fileFormat, isDamage, openToRead, ProfilesDamagedError } from './profiles-file.ts';
import { toIndexError } from './to-index-error.ts';

/*
 * The folder of the imported profiles, or of fictional ones:
 *
 * - `current.json`, the manifest, names the file that is searched. A change of all profiles writes another file and
 *   replaces the manifest. People who ask to be forgotten are deleted from the file in place.
 * - `profiles-*.db`, `fictional-*.db` are searched, `next-*.db` is the file of a running import, or of one that ended
 *   early and is not continued.
 * - `keeper.lock` allows one change of the manifest at a time.
 */
const lockFile = (folder: string): string => join(folder, 'keeper.lock');
const manifestFile = (folder: string): string => join(folder, 'current.json');

/** Returns a name that no file or generation has had. */
export const newId = (): string => randomBytes(8).toString('hex');

const manifestSchema = profileSet.extend({
  format: z.literal(fileFormat),
  file: z.string().regex(/^(?:profiles|fictional)-[0-9a-f]+\.db$/),
  /** What determines fictional profiles; null: they are real. */
  fictional: z.string().nullable(),
});

/** Describes the profiles that are searched. */
export type Manifest = z.output<typeof manifestSchema>;

/** Returns the manifest in `folder`, or null without one. Throws ProfilesDamagedError. */
export const readManifest = (folder: string): Manifest | null => {
  const file = manifestFile(folder);
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, 'utf8'));
  } catch (cause) {
    if (cause instanceof SyntaxError) throw new ProfilesDamagedError(`${file} is damaged`, { cause });
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return null;
    throw cause;
  }
  const read = manifestSchema.safeParse(value);
  if (read.success) return read.data;
  const problem = `${file} is damaged, or of another version of Causeway, which can export its profiles`;
  throw new ProfilesDamagedError(problem, { cause: read.error });
};

/** Returns null also for a manifest that cannot be read now: the next look at the folder tells why. */
export const tryManifest = (folder: string): Manifest | null => {
  try {
    return readManifest(folder);
  } catch {
    return null;
  }
};

/** Makes `manifest` the current one. It is on the disk when this resolves. The caller holds the lock. */
export const writeManifest = async (folder: string, manifest: Omit<Manifest, 'format'>): Promise<void> => {
  const file = manifestFile(folder);
  const text = `${JSON.stringify({ format: fileFormat, ...manifest }, null, 2)}\n`;
  await writeFile(`${file}.new`, text, { flush: true });
  // The name of the file that it names must be on the disk before.
  await syncToDisk(folder);
  renameSync(`${file}.new`, file);
  await syncToDisk(folder);
};

/** Changes with the manifest and the file that it names; null without a manifest. */
export const stampOf = (folder: string, manifest: Manifest | null): string | null => {
  const files = [manifestFile(folder), ...(manifest === null ? [] : [join(folder, manifest.file)])];
  const [first, ...others] = files.map((file) => statSync(file, { throwIfNoEntry: false }));
  if (first === undefined) return null;
  // A copy that keeps times, over a damaged file, changes its ctime.
  return [first, ...others].map((stats) => `${stats?.ino} ${stats?.size} ${stats?.ctimeMs}`).join('\n');
};

/**
 * Throws ProfilesDamagedError if the file that `manifest` names is missing, cut off or no file of profiles. A file that a
 * deletion locks is in use, and another one after it: the next look at the folder judges it.
 */
export const assertWhole = (folder: string, { file }: Pick<Manifest, 'file'>): void => {
  try {
    using database = openToRead(join(folder, file), { timeoutMs: 0 });
    // SQLite compares the length of the file with its first page.
    database.prepare('SELECT key, lead FROM people LIMIT 1').get();
  } catch (cause) {
    if (isLocked(cause)) return;
    throw isDamage(cause) ? new ProfilesDamagedError(`${join(folder, file)} is damaged or missing`) : cause;
  }
};

/** Files of profiles, with SQLite's own files beside them. */
const made = /^(?:profiles|fictional|next)-/;

/** Returns true if there are files of real profiles, named by a manifest or not. */
export const hasRealFiles = (folder: string): boolean =>
  readdirSync(folder).some((name) => name.startsWith('profiles-'));

/**
 * Returns true if `folder` has fictional profiles in files of this version, and no others. No earlier version has left
 * anything there then, such as a list of forgotten people.
 */
export const hasOnlyFictional = (folder: string): boolean => {
  const files = readdirSync(folder).filter((name) => !/^(?:current\.json|keeper\.lock|building-)/.test(name));
  return (
    files.length > 0 && files.every((file) => /^fictional-[0-9a-f]+\.db$/.test(file) && isWhole(folder, file))
  );
};

const isWhole = (folder: string, file: string): boolean => {
  try {
    assertWhole(folder, { file });
    return true;
  } catch {
    return false;
  }
};

/** Returns a warning if `folder` has imported profiles, which are not searched with DATABASE_URL; null if it has none. */
export const leftInFolder = (folder: string): string | null =>
  existsSync(folder) && hasRealFiles(folder)
    ? `The profiles in ${folder} are not searched, because DATABASE_URL is set. To import them into PostgreSQL: ` +
      '"DATABASE_URL= DATABASE_DIRECT_URL= causeway leads export | causeway leads import --format jsonl -"'
    : null;

/** Removes the files of imports that ended early. The caller holds the lock. */
export const removeUnfinished = (folder: string): void =>
  removeFiles(folder, (name) => name.startsWith('next-'));

/** Removes every file that the manifest does not name. The caller holds the lock. */
export const removeOthers = (folder: string): void => {
  const current = readManifest(folder);
  if (current !== null) removeFiles(folder, (name) => made.test(name) && !name.startsWith(current.file));
};

/** Open files on Windows stay for later. */
const removeFiles = (folder: string, isMeant: (name: string) => boolean): void => {
  for (const name of readdirSync(folder).filter(isMeant)) {
    try {
      rmSync(join(folder, name));
    } catch {
      continue;
    }
  }
};

/** How long a change waits for another one, which may be as short as a switch of generations. */
const waitMs = 500;

/** One change of the profiles, until it is closed. */
type Lock = Pick<DatabaseSync, 'close' | typeof Symbol.dispose>;

/**
 * Locks the profiles in `folder` for one change. The lock is SQLite's own, on a separate file, so the operating system
 * releases it however the process ends. It writes nothing, so it works on a full disk too. Returns null while another
 * change runs. Waits synchronously, by default for half a second. Throws LeadIndexError.
 */
export const tryLock = (folder: string, timeout = waitMs): Lock | null => {
  let database: DatabaseSync | null = null;
  try {
    database = new DatabaseSync(lockFile(folder), { timeout });
    database.exec('PRAGMA journal_mode = MEMORY; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE');
    return database;
  } catch (error) {
    database?.close();
    if (isLocked(error)) return null;
    throw toIndexError(error, folder);
  }
};

/** Locks the profiles, as `tryLock` does. Throws LeadIndexError `busy` while another change runs. */
export const lockProfiles = (folder: string): Lock => {
  const lock = tryLock(folder);
  if (lock === null) throw busyError();
  return lock;
};

const retryMs = 100;

/** Takes the lock after the current change ends, even after hours. Never blocks the thread. */
export const waitForLock = async (folder: string): Promise<Lock> => {
  for (;;) {
    const lock = tryLock(folder, 0);
    if (lock !== null) return lock;
    await delay(retryMs);
  }
};

/** SQLITE_BUSY. */
const isLocked = (error: unknown): boolean =>
  error instanceof Error && 'errcode' in error && error.errcode === 5;
