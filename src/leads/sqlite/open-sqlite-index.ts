import { mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { ignoreEnoent } from '../../kit/files.ts';
import type { ForgottenPeople, ForgottenSnapshot } from '../forgotten-people.ts';
import {
  checkList,
  forgottenMethods,
  LeadIndexError,
  type AddedPeople,
  type ImportOutcome,
  type ImportRequest,
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
  const explained = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw toIndexError(error, folder, { readRoom });
    }
  };
  await explained(() => mkdir(folder, { recursive: true }));
  return {
    importLeads: (request) => importLeads({ folder, people, readRoom }, request),
    stats: () =>
      explained(async () => {
        const manifest = readManifest(folder);
        return {
          profiles: manifest?.profiles ?? 0,
          synthetic: manifest !== null && manifest.fictional !== null,
          forgotten: await people.count(),
          bytes: await bytesIn(folder),
          generation: manifest?.generation ?? null,
          updatedAt: manifest === null || manifest.fictional !== null ? null : manifest.updatedAt,
        };
      }),
    exportLeads: ({ signal }) => exportLeads(folder, { people, signal }),
    ...forgottenMethods(people, {
      erase: (added) => erase(folder, added),
      toError: (cause, describe) => toIndexError(cause, folder, { describe }),
    }),
    sweep: () =>
      explained(async () => {
        // An import that is under way compares the list at its end.
        const lock = lockUnlessBusy(folder);
        if (lock === null) return;
        try {
          await sweep(folder, await people.read());
        } finally {
          lock.release();
        }
      }),
    close: async () => undefined,
  };
};

const importLeads = async (
  { folder, people, readRoom }: Required<SqliteIndexOptions>,
  request: ImportRequest,
): Promise<ImportOutcome> => {
  const { mode, signal } = request;
  const lock = lockProfiles(folder);
  try {
    const found = readCurrent(folder, mode);
    const current = found !== 'damaged' && found?.fictional === null ? found : null;
    if (current !== null) checkList(current, await people.read());
    removeUnfinished(folder);
    const outcome = await withinRoom(folder, { signal, readRoom }, (within) =>
      writeProfiles({ folder, request: { ...request, signal: within }, current, people }),
    );
    removeOthers(folder);
    // Somebody may have been deleted from the former file after the next one was compared with the list.
    await sweep(folder, await people.read());
    return found === 'damaged' ? { ...outcome, removed: null } : outcome;
  } catch (error) {
    signal.throwIfAborted();
    throw toIndexError(error, folder, { readRoom });
  } finally {
    lock.release();
  }
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
 * Deletes people from the current file. The words of a deleted
 * profile stay in the index until the next import. The manifest is not changed while an import is under way, which
 * compares the list and writes another one at its end.
 */
const erase = async (folder: string, { keys, revision, before }: AddedPeople): Promise<number> => {
  const manifest = readManifest(folder);
  if (manifest === null || manifest.fictional !== null) return 0;
  const removed = useProfiles(join(folder, manifest.file), (database) => deleteFrom(database, keys));
  const lock = lockUnlessBusy(folder);
  if (lock === null) return removed;
  try {
    const now = readManifest(folder);
    if (now?.file === manifest.file) await rewrite(folder, now, now.swept === before ? revision : now.swept);
  } finally {
    lock.release();
  }
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

const deleteFrom = (database: DatabaseSync, keys: readonly string[]): number => {
  database.exec('PRAGMA secure_delete = ON; PRAGMA synchronous = FULL; BEGIN IMMEDIATE');
  const removed = deletePeople(database, keys);
  database.exec('COMMIT');
  return removed;
};

const lockUnlessBusy = (folder: string): ReturnType<typeof lockProfiles> | null => {
  try {
    return lockProfiles(folder);
  } catch (error) {
    if (error instanceof LeadIndexError && error.problem === 'busy') return null;
    throw error;
  }
};

async function* exportLeads(
  folder: string,
  { people, signal }: { people: ForgottenPeople; signal: AbortSignal },
): AsyncGenerator<Lead> {
  try {
    const manifest = readManifest(folder);
    if (manifest === null || manifest.fictional !== null) return;
    const forgotten = await people.read();
    const database = openToRead(join(folder, manifest.file), { timeoutMs: changeTimeoutMs });
    try {
      const yieldToLoop = createYieldToLoop(signal);
      for (const lead of scanLeads(database)) {
        if (!forgotten.includes(lead.username)) yield lead;
        await yieldToLoop();
      }
    } finally {
      database.close();
    }
  } catch (error) {
    if (signal.aborted) throw error;
    throw toIndexError(error, folder);
  }
}

/** Sums the sizes of the files in `folder`. Files removed meanwhile count as nothing. */
const bytesIn = async (folder: string): Promise<number> => {
  const names = (await ignoreEnoent(readdir(folder))) ?? [];
  const found = await Promise.all(names.map((name) => ignoreEnoent(stat(join(folder, name)))));
  return found.reduce((sum, stats) => sum + (stats?.isFile() === true ? stats.size : 0), 0);
};
