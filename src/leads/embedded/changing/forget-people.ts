import { join } from 'node:path';
import { LeadKeeperError } from '../../lead-keeper.ts';
import { openForgottenPeople } from '../forgotten-people.ts';
import { lockKeeper } from '../keeper-lock.ts';
import { removeUnnamed } from '../lead-folder.ts';
import {
  ManifestUnreadableError,
  readableManifest,
  readManifest,
  writeManifest,
  type Manifest,
} from '../manifest.ts';
import { openCurrentGeneration, type GenerationPart } from '../open-generation.ts';
import { createSegmentPool, type SegmentPool } from '../segment-pool.ts';
import { eraseRows } from '../segment/erase-rows.ts';
import { createRowMarks, type RowMarks } from '../segment/row-set.ts';
import { SegmentDamagedError } from '../segment/segment-format.ts';
import { publish } from './publish.ts';
import { removeStaging } from './staging.ts';
import { toKeeperError } from './to-keeper-error.ts';
import { writeGone } from './write-generation.ts';

interface ForgetOptions {
  usernames: readonly string[];
  signal: AbortSignal;
  /** Called when nobody finds the people any more, and again when they are erased. The deletion fails if it rejects. */
  onChanged: () => Promise<void>;
}

/**
 * Implements LeadKeeper.forget. First the manifest notes that rows must be rewritten. Then the digests are stored, so
 * that nothing brings the people back. Last, searches skip them and their profiles are erased in place from the segments. The index lists still tell which words an erased row had, until
 * the next import rewrites everything. After an interruption, call it again: it skips finished steps, and an import in
 * between leaves out everybody on the list. Fictional profiles are nobody's and remain.
 */
export const forgetPeople = async (
  folder: string,
  { usernames, signal, onChanged }: ForgetOptions,
): Promise<{ removed: number }> => {
  signal.throwIfAborted();
  const lock = lockKeeper(folder);
  const pool = createSegmentPool(folder);
  let reached: Reached = 'nothing';
  try {
    const found = findPeople(folder, { pool, usernames });
    // A killed import may have left the people's rows there.
    removeStaging(folder);
    const list = storeDigests(folder, { usernames, hasRows: found instanceof Error || hasRows(found) });
    reached = 'remembered';
    if (found instanceof Error) throw found;
    const removed = found === null ? 0 : hidePeople(folder, { found, list });
    await onChanged();
    reached = 'hidden';
    if (found !== null) eraseFound(folder, found);
    removeUnnamed(folder, readManifest(folder));
    await onChanged();
    return { removed };
  } catch (error) {
    throw toForgetError(error, { folder, reached });
  } finally {
    pool.closeExcept([]);
    lock.release();
  }
};

/** The last finished step. */
type Reached = 'nothing' | 'remembered' | 'hidden';

const toForgetError = (
  cause: unknown,
  { folder, reached }: { folder: string; reached: Reached },
): LeadKeeperError => {
  if (reached === 'nothing' || (reached === 'remembered' && cause instanceof LeadKeeperError))
    return toKeeperError(cause, folder);
  const { problem, message } =
    reached === 'remembered'
      ? toKeeperError(cause, folder)
      : toKeeperError(cause, folder, { describe: (reason) => `Some data could not be erased (${reason}).` });
  const rest =
    reached === 'remembered'
      ? 'The people are on the list, but searches may still find them. Run the command again.'
      : 'Searches no longer find these people, but their profiles are still on the disk. Run the command again.';
  return new LeadKeeperError(problem === 'busy' ? 'failed' : problem, `${message} ${rest}`, { cause });
};

interface FoundPeople {
  manifest: Manifest;
  base: FoundRows;
  delta: FoundRows;
}

interface FoundRows {
  /** Includes rows that were gone before: replaced ones, and those of an interrupted call. */
  rows: number[];
  gone: RowMarks;
}

/** Null if nobody has a profile; an error if damage prevents an answer. */
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
 * Makes the manifest name the list, and note that rows must be removed from the segments. So the next import leaves
 * these people out, even if this call ends early. The searched files and the generation stay the same.
 */
const announce = (folder: string, { list, hasRows }: { list: string; hasRows: boolean }): void => {
  // No import adds to the files of an unreadable manifest.
  const manifest = readableManifest(folder);
  if (manifest === null) return;
  const hasErased = manifest.hasErased || (hasRows && !manifest.synthetic);
  if (hasErased !== manifest.hasErased || list !== manifest.forgotten)
    writeManifest(folder, { ...manifest, hasErased, forgotten: list });
};

/** Hides the people from searches. Returns how many were found before. */
const hidePeople = (folder: string, { found, list }: { found: FoundPeople; list: string }): number => {
  const { manifest, base, delta } = found;
  const removed = base.gone.size + delta.gone.size - (manifest.gone?.base ?? 0) - (manifest.gone?.delta ?? 0);
  if (removed > 0) {
    const gone = writeGone(folder, { base: base.gone, delta: delta.gone });
    publish(folder, { ...manifest, gone, hasErased: true, forgotten: list });
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
