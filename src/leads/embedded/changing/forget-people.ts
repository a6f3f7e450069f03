import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { openForgottenPeople } from '../forgotten-people.ts';
import { lockKeeper } from '../keeper-lock.ts';
import { removeUnnamed } from '../lead-folder.ts';
import { readManifest } from '../manifest.ts';
import { openCurrentGeneration, type Generation, type GenerationPart } from '../open-generation.ts';
import { createRowMarks, type RowMarks } from '../row-marks.ts';
import { createSegmentPool } from '../segment-pool.ts';
import { eraseRows } from '../segment/erase-rows.ts';
import { eraseFromSpool } from '../sorting/erase-from-spool.ts';
import { SpoolDamagedError } from '../sorting/spool-format.ts';
import { publish } from './publish.ts';
import { readCheckpoint, removeStaging, spoolFile } from './staging.ts';
import { toKeeperError } from './to-keeper-error.ts';
import { runsFile, writeGone } from './write-generation.ts';

/**
 * LeadKeeper.forget. First their digests are stored, so that nothing brings them back; then their rows in an import
 * that did not end are erased; then no search finds them, and their profiles are erased from the segments, in place.
 * What stays until the next import, which writes everything anew for it, are the lists of the index: whoever reads the
 * file itself can tell from them which words an erased row had. Interrupted, it is to be called again: what was done
 * is passed over. Fictional profiles are nobody's and stay.
 */
export const forgetPeople = (
  folder: string,
  { usernames, signal }: { usernames: readonly string[]; signal: AbortSignal },
): { removed: number } => {
  signal.throwIfAborted();
  const lock = lockKeeper(folder);
  const pool = createSegmentPool(folder);
  try {
    storeDigests(folder, usernames);
    eraseStaged(folder, usernames);
    const isReal = readManifest(folder)?.synthetic === false;
    const generation = isReal ? openCurrentGeneration(folder, pool) : null;
    const removed = generation === null ? 0 : removeFrom(folder, { generation, usernames });
    removeUnnamed(folder, readManifest(folder));
    return { removed };
  } catch (error) {
    throw toKeeperError(error);
  } finally {
    pool.closeExcept([]);
    lock.release();
  }
};

const storeDigests = (folder: string, usernames: readonly string[]): void => {
  const forgotten = openForgottenPeople(folder);
  try {
    forgotten.add(usernames);
  } finally {
    forgotten.close();
  }
};

/** Returns how many were found by searches until now. */
const removeFrom = (
  folder: string,
  { generation, usernames }: { generation: Generation; usernames: readonly string[] },
): number => {
  const { manifest, base, delta } = generation;
  const found = [findIn(base, usernames), findIn(delta, usernames)] as const;
  const removed =
    found.reduce((sum, { gone }) => sum + gone.size, 0) -
    (manifest.gone === null ? 0 : manifest.gone.base + manifest.gone.delta);
  if (found.some(({ rows }) => rows.length > 0)) {
    const gone =
      removed > 0 ? writeGone(folder, { base: found[0].gone, delta: found[1].gone }) : manifest.gone;
    publish(folder, { ...manifest, gone, hasErased: true });
  }
  // Also rows that were gone before: superseded ones, and those of a call that did not come to its end.
  eraseRows(join(folder, manifest.base.file), found[0].rows);
  if (manifest.delta !== null) eraseRows(join(folder, manifest.delta.file), found[1].rows);
  return removed;
};

const findIn = (
  part: GenerationPart | null,
  usernames: readonly string[],
): { rows: number[]; gone: RowMarks } => {
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
