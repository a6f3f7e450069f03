import { mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { ignoreEnoent } from '../../kit/files.ts';
import type { ForgottenPeople, ForgottenSnapshot } from '../forgotten-people.ts';
import {
  checkList,
  createLeadIndex,
  type AddedPeople,
  type ImportOutcome,
  type ImportRequest,
  type IndexEngine,
  type LeadIndex,
} from '../lead-index.ts';
import type { Lead } from '../lead-source.ts';
import { createYieldToLoop } from '../yield-to-loop.ts';
import { readDiskRoom, withinRoom, type ReadDiskRoom } from './disk-room.ts';
import {
  lockProfiles,
  newId,
  readManifest,
  removeOthers,
  removeUnfinished,
  tryLock,
  writeManifest,
  type Manifest,
} from './profiles-folder.ts';
import {
  changeTimeoutMs,
  deletePeople,
  findPeople,
  isDamage,
  openToRead,
  scanLeads,
  storedCount,
  useProfiles,
} from './profiles-file.ts';
import { toIndexError } from './to-index-error.ts';
import { writeProfiles } from './import-profiles.ts';

export interface SqliteIndexOptions {
  folder: string;
  people: ForgottenPeople;
  readRoom?: ReadDiskRoom;
}

/**
 * Changes the profiles in `folder`, which is created if it is missing. Blocks the calling thread for long periods, so
 * use another thread or process beside a gateway that serves the same folder.
 */
export const openSqliteIndex = async ({
  folder,
  people,
  readRoom = readDiskRoom,
}: SqliteIndexOptions): Promise<LeadIndex> => {
  const toError: IndexEngine['toError'] = (cause, describe) =>
    toIndexError(cause, folder, { describe, readRoom });
  try {
    await mkdir(folder, { recursive: true });
  } catch (error) {
    throw toError(error);
  }
  return createLeadIndex(people, {
    importLeads: (request) => importLeads({ folder, people, readRoom }, request),
    stats: async () => {
      const manifest = readManifest(folder);
      return {
        profiles: manifest?.profiles ?? 0,
        synthetic: manifest !== null && manifest.fictional !== null,
        bytes: await bytesIn(folder),
        generation: manifest?.generation ?? null,
        updatedAt: manifest === null || manifest.fictional !== null ? null : manifest.updatedAt,
      };
    },
    readAll: (signal) => readAll(folder, signal),
    erase: (added) => erase(folder, added),
    sweep: async () => {
      // An import that is under way compares the list at its end.
      using lock = tryLock(folder);
      if (lock !== null) await sweep(folder, await people.read());
    },
    toError,
    close: async () => undefined,
  });
};

const importLeads = async (
  { folder, people, readRoom }: Required<SqliteIndexOptions>,
  request: ImportRequest,
): Promise<ImportOutcome> => {
  const { mode, signal } = request;
  using _lock = lockProfiles(folder);
  const found = readCurrent(folder, mode);
  const current = found !== 'damaged' && found?.fictional === null ? found : null;
  if (current !== null) checkList(current, await people.read());
  removeUnfinished(folder);
  const copied =
    mode === 'upsert' && current !== null ? await ignoreEnoent(stat(join(folder, current.file))) : null;
  const outcome = await withinRoom(folder, { firstBytes: copied?.size ?? 0, signal, readRoom }, (within) =>
    writeProfiles({ folder, request: { ...request, signal: within }, current, people }),
  );
  removeOthers(folder);
  // Somebody may have been deleted from the former file after the next one was compared with the list.
  await sweep(folder, await people.read());
  return found === 'damaged' ? { ...outcome, removed: null } : outcome;
};

/** Null if there is no manifest; `damaged`: one that will be replaced. */
const readCurrent = (folder: string, mode: ImportRequest['mode']): Manifest | 'damaged' | null => {
  try {
    return readManifest(folder);
  } catch (error) {
    if (mode === 'replace' && isDamage(error)) return 'damaged';
    throw error;
  }
};

/**
 * Deletes people from the current file. The words of a deleted profile stay in the index until the next import. The
 * manifest is not changed while an import is under way, which compares the list and writes another one at its end.
 */
const erase = async (folder: string, { keys, revision, before }: AddedPeople): Promise<number> => {
  const manifest = readManifest(folder);
  if (manifest === null || manifest.fictional !== null) return 0;
  const removed = useProfiles(join(folder, manifest.file), (database) => deleteFrom(database, keys));
  using lock = tryLock(folder);
  const now = lock === null ? null : readManifest(folder);
  if (now?.file === manifest.file) await rewrite(folder, now, now.swept === before ? revision : now.swept);
  return removed;
};

/** Deletes the people who are on the list and still stored, as after a deletion that ended early. Needs the lock. */
const sweep = async (folder: string, forgotten: ForgottenSnapshot): Promise<void> => {
  const manifest = readManifest(folder);
  if (manifest === null || manifest.fictional !== null) return;
  checkList(manifest, forgotten);
  if (manifest.swept === forgotten.revision) return;
  useProfiles(join(folder, manifest.file), (database) =>
    deleteFrom(database, findPeople(database, forgotten.includes)),
  );
  await rewrite(folder, manifest, forgotten.revision);
};

/** Notes that the file has other profiles. */
const rewrite = async (folder: string, manifest: Manifest, swept: number): Promise<void> => {
  const profiles = useProfiles(join(folder, manifest.file), storedCount);
  await writeManifest(folder, { ...manifest, profiles, generation: newId(), swept });
};

/** People who are deleted together. Searches wait while they are written. */
const peopleAtOnce = 500;

/** Those whom it leaves if it ends early are on the list, and a sweep deletes them. */
const deleteFrom = (database: DatabaseSync, keys: readonly string[]): number => {
  // Without a spill of the cache only a COMMIT locks out searches.
  database.exec('PRAGMA secure_delete = ON; PRAGMA synchronous = FULL; PRAGMA cache_spill = OFF');
  let removed = 0;
  for (let start = 0; start < keys.length; start += peopleAtOnce) {
    database.exec('BEGIN IMMEDIATE');
    removed += deletePeople(database, keys.slice(start, start + peopleAtOnce));
    database.exec('COMMIT');
  }
  return removed;
};

async function* readAll(folder: string, signal: AbortSignal): AsyncGenerator<Lead> {
  const manifest = readManifest(folder);
  if (manifest === null || manifest.fictional !== null) return;
  using database = openToRead(join(folder, manifest.file), { timeoutMs: changeTimeoutMs });
  const yieldToLoop = createYieldToLoop(signal);
  for (const lead of scanLeads(database)) {
    yield lead;
    await yieldToLoop();
  }
}

/** Sums the sizes of the files in `folder`. Files removed meanwhile count as nothing. */
const bytesIn = async (folder: string): Promise<number> => {
  const names = (await ignoreEnoent(readdir(folder))) ?? [];
  const found = await Promise.all(names.map((name) => ignoreEnoent(stat(join(folder, name)))));
  return found.reduce((sum, stats) => sum + (stats?.isFile() === true ? stats.size : 0), 0);
};
