import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { LeadKeeperError } from '../../lead-keeper.ts';
import { openForgottenPeople } from '../forgotten-people.ts';
import { lockKeeper } from '../keeper-lock.ts';
import { removeUnnamed, stagingFolder } from '../lead-folder.ts';
import {
  ManifestUnreadableError,
  readableManifest,
  readManifest,
  writeManifest,
  type Manifest,
} from '../manifest.ts';
import { openCurrentGeneration, type GenerationPart } from '../open-generation.ts';
import { createRowMarks, type RowMarks } from '../row-marks.ts';
import { createSegmentPool, type SegmentPool } from '../segment-pool.ts';
import { eraseRows } from '../segment/erase-rows.ts';
import { SegmentDamagedError } from '../segment/segment-format.ts';
import { eraseFromSpool } from '../sorting/erase-from-spool.ts';
import { SpoolDamagedError } from '../sorting/spool-format.ts';
import { publish } from './publish.ts';
import { readCheckpoint, removeStaging, spoolFile } from './staging.ts';
import { isDiskFull, toKeeperError } from './to-keeper-error.ts';
import { runsFile, writeGone } from './write-generation.ts';

/**
 * LeadKeeper.forget. First the manifest says that there are rows to be written anew, then their digests are stored, so
 * that nothing brings them back; then their rows in an import that did not end are erased; then no search finds them,
 * and their profiles are erased from the segments, in place. What stays until the next import, which writes everything
 * anew for it, are the lists of the index: whoever reads the file itself can tell from them which words an erased row
 * had. Interrupted, it is to be called again: what was done is passed over; an import that comes before leaves out
 * whoever is remembered. Where there is no room for it, an import that did not end is given up. Fictional profiles are
 * nobody's and stay.
 */
export const forgetPeople = (
  folder: string,
  { usernames, signal }: { usernames: readonly string[]; signal: AbortSignal },
): { removed: number } => {
  signal.throwIfAborted();
  const lock = lockKeeper(folder);
  const pool = createSegmentPool(folder);
  let reached: Reached = 'nothing';
  try {
    const found = findPeople(folder, { pool, usernames });
    const list = givingStagedUp(folder, () =>
      storeDigests(folder, { usernames, hasRows: found instanceof Error || hasRows(found) }),
    );
    reached = 'remembered';
    eraseStaged(folder, usernames);
    if (found instanceof Error) throw found;
    const removed = found === null ? 0 : hidePeople(folder, { found, list });
    reached = 'hidden';
    if (found !== null) givingStagedUp(folder, () => eraseFound(folder, found));
    removeUnnamed(folder, readManifest(folder));
    return { removed };
  } catch (error) {
    throw toForgetError(error, { folder, reached });
  } finally {
    pool.closeExcept([]);
    lock.release();
  }
};

/** How far the forgetting got. */
type Reached = 'nothing' | 'remembered' | 'hidden';

const toForgetError = (
  cause: unknown,
  { folder, reached }: { folder: string; reached: Reached },
): LeadKeeperError => {
  if (reached === 'nothing') return toKeeperError(cause, folder);
  const { problem, message } =
    reached === 'remembered'
      ? toKeeperError(cause, folder)
      : toKeeperError(cause, folder, { describe: (reason) => `Not everything could be erased (${reason}).` });
  const rest =
    reached === 'remembered'
      ? 'Those people are remembered, but may still be found: run it again.'
      : 'No search finds those people any more, but their profiles are still on the disk: run it again.';
  return new LeadKeeperError(problem, `${message} ${rest}`, { cause });
};

/** These people in the segments. */
interface FoundPeople {
  manifest: Manifest;
  base: FoundRows;
  delta: FoundRows;
}

interface FoundRows {
  /** Also those that were gone before: superseded ones, and those of a call that did not come to its end. */
  rows: number[];
  /** What is to be gone. */
  gone: RowMarks;
}

/** Null where nobody's profiles are; an error where that cannot be told, as they are damaged. */
const findPeople = (
  folder: string,
  { pool, usernames }: { pool: SegmentPool; usernames: readonly string[] },
): FoundPeople | null | SegmentDamagedError | ManifestUnreadableError => {
  try {
    const isReal = readManifest(folder)?.synthetic === false;
    const generation = isReal ? openCurrentGeneration(folder, pool) : null;
    if (generation === null) return null;
    const { manifest, base, delta } = generation;
    return { manifest, base: findIn(base, usernames), delta: findIn(delta, usernames) };
  } catch (error) {
    if (error instanceof SegmentDamagedError || error instanceof ManifestUnreadableError) return error;
    throw error;
  }
};

const hasRows = (found: FoundPeople | null): boolean =>
  found !== null && found.base.rows.length + found.delta.rows.length > 0;

/** Does `work`, and where it finds no room does it again without the import that stopped: that one matters less. */
const givingStagedUp = <T>(folder: string, work: () => T): T => {
  try {
    return work();
  } catch (error) {
    if (!isDiskFull(error) || !existsSync(stagingFolder(folder))) throw error;
    removeStaging(folder);
    return work();
  }
};

/** Returns the mark of the list. */
const storeDigests = (
  folder: string,
  { usernames, hasRows }: { usernames: readonly string[]; hasRows: boolean },
): string => {
  const forgotten = openForgottenPeople(folder);
  try {
    announce(folder, { list: forgotten.mark, hasRows });
    forgotten.add(usernames);
    return forgotten.mark;
  } finally {
    forgotten.close();
  }
};

/**
 * Has the manifest name the list, and tell that rows are to come out of the segments: whatever ends the call after that,
 * the next import leaves these people out. What is searched is the same, and so is the generation.
 */
const announce = (folder: string, { list, hasRows }: { list: string; hasRows: boolean }): void => {
  // No import adds to what an unreadable one names.
  const manifest = readableManifest(folder);
  if (manifest === null) return;
  const hasErased = manifest.hasErased || (hasRows && !manifest.synthetic);
  if (hasErased !== manifest.hasErased || list !== manifest.forgotten)
    writeManifest(folder, { ...manifest, hasErased, forgotten: list });
};

/** Lets no search find them. Returns how many were found until now. */
const hidePeople = (folder: string, { found, list }: { found: FoundPeople; list: string }): number => {
  const { manifest, base, delta } = found;
  const removed = base.gone.size + delta.gone.size - (manifest.gone?.base ?? 0) - (manifest.gone?.delta ?? 0);
  if (removed > 0) {
    givingStagedUp(folder, () => {
      const gone = writeGone(folder, { base: base.gone, delta: delta.gone });
      publish(folder, { ...manifest, gone, hasErased: true, forgotten: list });
    });
  }
  return removed;
};

const eraseFound = (folder: string, { manifest, base, delta }: FoundPeople): void => {
  eraseRows(join(folder, manifest.base.file), base.rows);
  if (manifest.delta !== null) eraseRows(join(folder, manifest.delta.file), delta.rows);
};

const findIn = (part: GenerationPart | null, usernames: readonly string[]): FoundRows => {
  const gone = createRowMarks(part?.segment.profiles ?? 0, part?.gone);
  const rows: number[] = [];
  for (const username of usernames) {
    const stored = part?.segment.find(username) ?? null;
    if (stored === null) continue;
    rows.push(stored.row);
    gone.add(stored.row);
  }
  return { rows, gone };
};

const eraseStaged = (folder: string, usernames: readonly string[]): void => {
  rmSync(runsFile(spoolFile(folder)), { force: true });
  const checkpoint = readCheckpoint(folder);
  // Without a checkpoint nothing of it will be gone on with.
  if (checkpoint === null) return removeStaging(folder);
  try {
    if (existsSync(spoolFile(folder))) eraseFromSpool(spoolFile(folder), checkpoint.spoolBytes, usernames);
  } catch (error) {
    if (!(error instanceof SpoolDamagedError)) throw error;
    removeStaging(folder);
  }
};
