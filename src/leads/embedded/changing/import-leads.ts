import type { ImportOutcome, ImportProgress, ImportRequest } from '../../lead-keeper.ts';
import { readForgottenClaim } from '../forgotten-claim.ts';
import { openForgottenPeople } from '../forgotten-people.ts';
import type { KeeperLimits } from '../keeper-limits.ts';
import { lockKeeper } from '../keeper-lock.ts';
import { changeFiles, removeMade, removeUnnamed } from '../lead-folder.ts';
import { importedSource, profilesIn, readManifest } from '../manifest.ts';
import { openCurrentGeneration, type Generation } from '../open-generation.ts';
import { createSegmentPool, type SegmentPool } from '../segment-pool.ts';
import { SegmentDamagedError } from '../segment/segment-format.ts';
import { withinRoom, type ReadDiskRoom } from './disk-room.ts';
import { publish } from './publish.ts';
import { readInput, type StagedInput } from './read-input.ts';
import { removeStaging, spoolFile } from './staging.ts';
import { isFolderTrouble, toKeeperError } from './to-keeper-error.ts';
import { writeGeneration } from './write-generation.ts';

interface ImportOptions {
  request: ImportRequest;
  limits: KeeperLimits;
  readRoom: ReadDiskRoom;
  /** The import fails if it rejects. */
  onChanged: () => Promise<void>;
}

interface TakeOverOptions extends ImportOptions {
  staged: StagedInput;
  old: Generation | null;
}

/** Implements LeadKeeper.importLeads. An input without rows is usually a mistake, so it changes nothing. */
export const importLeads = async (
  folder: string,
  { request, limits, readRoom, onChanged }: ImportOptions,
): Promise<ImportOutcome> => {
  const lock = lockKeeper(folder);
  const pool = createSegmentPool(folder);
  try {
    // Detects a damaged list before hours of reading.
    orKeeperError(folder, () => {
      if (readForgottenClaim(folder).hasList()) openForgottenPeople(folder).close();
    });
    const old = openOld(folder, { pool, mode: request.mode });
    const staged = await readInput(folder, {
      request: { ...request, onProgress: seldom(request.onProgress) },
      readRoom,
    }).catch((error: unknown) => {
      throw isFolderTrouble(error, folder) ? toKeeperError(error, folder, { readRoom }) : error;
    });
    return staged.rows === 0
      ? nothingRead(old)
      : await takeOver(folder, { request, limits, readRoom, onChanged, staged, old });
  } finally {
    removeStaging(folder);
    pool.closeExcept([]);
    lock.release();
  }
};

/** Opens the current profiles; null if there are none, or they are fictional, or damaged and to be replaced. */
const openOld = (
  folder: string,
  { pool, mode }: { pool: SegmentPool; mode: ImportRequest['mode'] },
): Generation | null => {
  try {
    const manifest = readManifest(folder);
    removeUnnamed(folder, manifest);
    if (manifest?.synthetic === true) return null;
    return openCurrentGeneration(folder, pool);
  } catch (error) {
    if (mode === 'replace') return null;
    throw toKeeperError(error, folder);
  }
};

const takeOver = async (
  folder: string,
  { request, limits, readRoom, onChanged, staged, old }: TakeOverOptions,
): Promise<ImportOutcome> => {
  const { mode } = request;
  const tell = seldom(request.onProgress);
  const forgotten = orKeeperError(folder, () => openForgottenPeople(folder));
  const filesBefore = changeFiles(folder);
  const write = (from: Generation | null, signal: AbortSignal): ReturnType<typeof writeGeneration> =>
    writeGeneration({
      folder,
      spool: { file: spoolFile(folder), bytes: staged.spoolBytes, rows: staged.rows },
      old: from,
      mode,
      isForgotten: forgotten.includes,
      limits,
      signal,
      onProgress: (progress) => tell?.({ phase: 'indexing', ...progress }),
    });
  try {
    request.onProgress?.({ phase: 'indexing', done: 0, total: null });
    const { outcome, ...files } = await withinRoom(folder, { signal: request.signal, readRoom }, (signal) =>
      write(old, signal).catch((error: unknown) => {
        // Damaged profiles that will be replaced are just not counted.
        if (mode === 'replace' && old !== null && error instanceof SegmentDamagedError)
          return write(null, signal);
        throw error;
      }),
    );
    const manifest = publish(folder, {
      synthetic: false,
      source: importedSource,
      hasErased: false,
      forgotten: forgotten.mark,
      ...files,
    });
    await onChanged();
    removeUnnamed(folder, manifest);
    return outcome;
  } catch (error) {
    giveRoomBack(folder, filesBefore);
    if (request.signal.aborted) throw error;
    throw toKeeperError(error, folder, { readRoom });
  } finally {
    forgotten.close();
  }
};

const orKeeperError = <T>(folder: string, work: () => T): T => {
  try {
    return work();
  } catch (error) {
    throw toKeeperError(error, folder);
  }
};

/** Cleans up after a failed or stopped import. */
const giveRoomBack = (folder: string, filesBefore: ReadonlySet<string>): void => {
  try {
    removeMade(folder, { before: filesBefore, manifest: readManifest(folder) });
  } catch {
    // The import's own error is reported, and the next change removes the rest.
  }
};

const nothingRead = (old: Generation | null): ImportOutcome => ({
  rows: 0,
  added: 0,
  updated: 0,
  repeated: 0,
  forgotten: 0,
  profiles: old === null ? 0 : profilesIn(old.manifest),
});

const progressMs = 250;

/** Calls `tell` when the phase changes and otherwise a few times a second. */
const seldom = (tell: ImportRequest['onProgress']): ImportRequest['onProgress'] => {
  let last: { phase: ImportProgress['phase']; atMs: number } | null = null;
  return (progress) => {
    const nowMs = performance.now();
    if (last?.phase === progress.phase && nowMs - last.atMs < progressMs) return;
    last = { phase: progress.phase, atMs: nowMs };
    tell?.(progress);
  };
};
