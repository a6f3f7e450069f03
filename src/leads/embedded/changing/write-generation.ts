import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { ImportOutcome, ImportProgress } from '../../lead-keeper.ts';
import { writeGoneRows, type GoneRows } from '../gone-rows.ts';
import { defaultKeeperLimits, type KeeperLimits } from '../keeper-limits.ts';
import { newId } from '../lead-folder.ts';
import { profilesIn, type Manifest, type SegmentFile } from '../manifest.ts';
import { isFoldedAlike, type Generation } from '../open-generation.ts';
import { createRowMarks } from '../segment/row-set.ts';
import { writeSegment, type SegmentRow } from '../segment/write-segment.ts';
import { mergeRows } from '../sorting/merge-rows.ts';
import { createRunFile, type RunFile } from '../sorting/run-file.ts';
import { sortPartitions, type SortedPartitions } from '../sorting/sort-partitions.ts';
import { openSpoolReader } from '../sorting/spool-reader.ts';
import { openSpoolWriter } from '../sorting/spool-writer.ts';
import { createYieldToLoop } from './yield-to-loop.ts';

export interface WriteGenerationInput {
  /** The folder for the new files, and for `runsFile` beside the spool for a while. */
  folder: string;
  /** The rows that were read, and the part of the file that has them. */
  spool: { file: string; bytes: number; rows: number };
  /** The current profiles, to compare with the new rows or to keep; null if they are fictional. */
  old: Generation | null;
  mode: 'upsert' | 'replace';
  isForgotten: (username: string) => boolean;
  limits?: KeeperLimits;
  signal: AbortSignal;
  onProgress?: (progress: Pick<ImportProgress, 'done' | 'total'>) => void;
}

/** Files for a manifest that does not exist yet. */
export interface WrittenGeneration extends Pick<Manifest, 'base' | 'delta' | 'gone'> {
  outcome: ImportOutcome;
}

/**
 * Writes the files of the next generation from the rows in the spool and, for `upsert`, the profiles of `old`. A few
 * rows go into a new delta, together with the rows of the old delta. Otherwise a new base takes everything. Memory does
 * not grow with the number of profiles, except for the needs of a segment. On failure the new files stay, under names
 * that no manifest has.
 *
 * For a new base, the profiles of `old` go through the spool after the new rows. To merge them as another sorted run
 * would be slower. It must be known before the merge whether a row is replaced, so `old` would be read twice, and to
 * read a profile from a segment costs 1.7 times as much as spooling, sorting and merging it.
 */
export const writeGeneration = async (input: WriteGenerationInput): Promise<WrittenGeneration> => {
  const { old, mode, spool, limits = defaultKeeperLimits } = input;
  const isDelta =
    mode === 'upsert' &&
    old !== null &&
    isFoldedAlike(old) &&
    !old.manifest.hasErased &&
    spool.rows + (old.manifest.delta?.profiles ?? 0) <=
      Math.max(limits.deltaProfiles, old.manifest.base.profiles / 10);
  return isDelta ? writeDelta({ ...input, old }) : writeBase(input);
};

const writeBase = async (input: WriteGenerationInput): Promise<WrittenGeneration> => {
  const { old, mode, spool, signal } = input;
  const bytes =
    old === null ? spool.bytes : await addKnown(old, { spool, isKept: mode === 'upsert', signal });
  return withRuns(spool.file, async (runs) => {
    const sorted = await sortSpool(input, { bytes, runs, isKnown: ({ isKnown }) => isKnown });
    const base = await writeFile('base', readRuns(runs, sorted), { ...input, total: sorted.profiles });
    return { base, delta: null, gone: null, outcome: toOutcome(input, { sorted, profiles: base.profiles }) };
  });
};

/** Rows between two checks of the clock. */
const rowsAtOnce = 500;

/** Adds the current profiles to the spool. Returns its new length. */
const addKnown = async (
  { base, delta }: Generation,
  { spool, isKept, signal }: { spool: { file: string; bytes: number }; isKept: boolean; signal: AbortSignal },
): Promise<number> => {
  const writer = openSpoolWriter(spool.file, spool.bytes);
  const yieldToLoop = createYieldToLoop(signal);
  try {
    for (const part of [base, delta]) {
      if (part === null) continue;
      let rows = 0;
      for (const { lead, json } of part.segment.scan(part.gone)) {
        writer.addKnown({ lead, json: isKept ? json : null });
        rows += 1;
        if (rows % rowsAtOnce === 0) await yieldToLoop();
      }
    }
    writer.flush();
    return writer.bytes;
  } finally {
    writer.close();
  }
};

const writeDelta = async (input: WriteGenerationInput & { old: Generation }): Promise<WrittenGeneration> => {
  const { folder, spool, old } = input;
  const { base, delta } = old;
  const goneOfBase = createRowMarks(base.segment.profiles, base.gone);
  const goneOfDelta = createRowMarks(delta?.segment.profiles ?? 0, delta?.gone);
  const supersede = (username: string): boolean => {
    const before = goneOfBase.size + goneOfDelta.size;
    const inBase = base.segment.find(username);
    if (inBase !== null) goneOfBase.add(inBase.row);
    const inDelta = delta?.segment.find(username) ?? null;
    if (inDelta !== null) goneOfDelta.add(inDelta.row);
    return goneOfBase.size + goneOfDelta.size > before;
  };
  return withRuns(spool.file, async (runs) => {
    const sorted = await sortSpool(input, {
      bytes: spool.bytes,
      runs,
      isKnown: ({ username }) => supersede(username),
    });
    const streams = [...readRuns(runs, sorted), ...(delta === null ? [] : [delta.segment.scan(goneOfDelta)])];
    const total = sorted.profiles + (delta?.segment.profiles ?? 0) - goneOfDelta.size;
    const written = {
      base: old.manifest.base,
      delta: await writeFile('delta', streams, { ...input, total }),
      gone: writeGone(folder, { base: goneOfBase, delta: createRowMarks(0) }),
    };
    const profiles = profilesIn({ ...old.manifest, ...written });
    return { ...written, outcome: toOutcome(input, { sorted, profiles }) };
  });
};

/** Writes the rows to skip; null if there are none. */
export const writeGone = (folder: string, gone: GoneRows): Manifest['gone'] => {
  if (gone.base.size + gone.delta.size === 0) return null;
  const file = `gone-${newId()}.bin`;
  writeGoneRows(join(folder, file), gone);
  return { file, base: gone.base.size, delta: gone.delta.size };
};

/** Returns the path of the sorted runs beside a spool, used during one call. */
const runsFile = (spool: string): string => `${spool}-runs`;

const withRuns = async <T>(spoolFile: string, work: (runs: RunFile) => Promise<T>): Promise<T> => {
  const file = runsFile(spoolFile);
  const runs = createRunFile(file);
  try {
    return await work(runs);
  } finally {
    runs.close();
    rmSync(file);
  }
};

const sortSpool = async (
  { spool, isForgotten, signal, limits = defaultKeeperLimits }: WriteGenerationInput,
  { bytes, ...rest }: { bytes: number } & Pick<Parameters<typeof sortPartitions>[0], 'runs' | 'isKnown'>,
): Promise<SortedPartitions> => {
  const reader = openSpoolReader(spool.file, bytes);
  try {
    return await sortPartitions({
      spool: reader,
      isForgotten,
      signal,
      arenaBytes: limits.arenaBytes,
      ...rest,
    });
  } finally {
    reader.close();
  }
};

/** For reading all runs together. */
const runsBufferBytes = 32 * 1024 * 1024;
const largestBufferBytes = 128 * 1024;

const readRuns = (runs: RunFile, sorted: SortedPartitions): Iterable<SegmentRow>[] => {
  const bytes = Math.floor(Math.min(largestBufferBytes, runsBufferBytes / Math.max(1, sorted.runs.length)));
  return sorted.runs.map((run) => runs.read(run, bytes));
};

const writeFile = async (
  kind: 'base' | 'delta',
  streams: readonly Iterable<SegmentRow>[],
  { folder, total, signal, onProgress }: WriteGenerationInput & { total: number },
): Promise<SegmentFile> => {
  const file = `${kind}-${newId()}.db`;
  onProgress?.({ done: 0, total });
  const { profiles } = await writeSegment({
    file: join(folder, file),
    rows: yielding(mergeRows(streams), signal),
    signal,
    onProgress: (done) => onProgress?.({ done, total }),
  });
  return { file, profiles };
};

async function* yielding<T>(values: Iterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const yieldToLoop = createYieldToLoop(signal);
  for (const value of values) {
    await yieldToLoop();
    yield value;
  }
}

const toOutcome = (
  { spool }: WriteGenerationInput,
  { sorted, profiles }: { sorted: SortedPartitions; profiles: number },
): ImportOutcome => ({
  rows: spool.rows,
  added: sorted.added,
  updated: sorted.updated,
  repeated: sorted.repeated,
  forgotten: sorted.forgotten,
  profiles,
});
