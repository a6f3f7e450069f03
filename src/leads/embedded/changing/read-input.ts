import { statSync } from 'node:fs';
import { beginBatches } from '../../import/begin-batches.ts';
import type { ImportRequest, LeadBatch } from '../../lead-keeper.ts';
import type { KeeperLimits } from '../keeper-limits.ts';
import { createYieldToLoop } from './yield-to-loop.ts';
import { withinRoom, type ReadDiskRoom } from './disk-room.ts';
import { openSpoolWriter, type SpoolWriter } from '../sorting/spool-writer.ts';
import {
  clearStaging,
  readCheckpoint,
  removeStaging,
  spoolFile,
  writeCheckpoint,
  type Checkpoint,
} from './staging.ts';

export interface StagedInput {
  rows: number;
  /** The bytes of the spool with the input; later additions come after them. */
  spoolBytes: number;
  isResumed: boolean;
}

const checkpointMs = 1_000;
/** Slow inputs are not cut into many small batches, which are slow to merge: a checkpoint is due after this size... */
const leastBytes = 4 * 1024 * 1024;
/** ...or this age. */
const slowCheckpointMs = 10_000;

/**
 * Reads the input into the staging folder, and resumes an earlier import of the same input. Another unfinished import
 * is discarded once this one has yielded a profile. When aborted, or with NoRoomError on a nearly full disk, it stores
 * its progress and rejects. An input that can be read only once leaves no checkpoint, a refused one leaves nothing.
 */
export const readInput = async (
  folder: string,
  { request, limits, readRoom }: { request: ImportRequest; limits: KeeperLimits; readRoom: ReadDiskRoom },
): Promise<StagedInput> => {
  const { input, mode, signal } = request;
  const found = readCheckpoint(folder);
  const resumed =
    found !== null && found.key === input.key && found.mode === mode && isSpoolThere(folder, found)
      ? found
      : null;
  /** True if the staged rows belong to this input. */
  let isOurs = resumed !== null;
  try {
    if (resumed?.isRead === true) {
      input.resumeEnd?.(resumed.position);
      return { ...resumed, isResumed: true };
    }
    const { batches, close } = await beginBatches(input, { after: resumed?.position ?? null, signal });
    try {
      if (resumed === null) clearStaging(folder);
      isOurs = true;
      return await withinRoom(folder, { signal, readRoom }, (within) =>
        stage(folder, { request: { ...request, signal: within }, limits, resumed, batches }),
      );
    } finally {
      await close();
    }
  } catch (error) {
    if (isOurs && input.isRefused?.() === true) removeStaging(folder);
    throw error;
  }
};

interface StageOptions {
  request: ImportRequest;
  limits: KeeperLimits;
  resumed: Checkpoint | null;
  batches: AsyncIterable<LeadBatch>;
}

const stage = async (
  folder: string,
  { request, limits, resumed, batches }: StageOptions,
): Promise<StagedInput> => {
  const { input, signal, onProgress } = request;
  const state = resumed ?? newState(request);
  const spool = openSpoolWriter(spoolFile(folder), state.spoolBytes);
  const checkpoints = createCheckpoints(folder, { spool, key: input.key, limits });
  const tell = (): void =>
    onProgress?.({ phase: 'reading', done: state.rows, total: null, isResumed: resumed !== null });
  const yieldToLoop = createYieldToLoop(signal);
  try {
    tell();
    for await (const { leads, position } of batches) {
      for (const lead of leads) spool.add(lead);
      state.rows += leads.length;
      state.position = position;
      checkpoints.offer(state);
      if (await yieldToLoop()) tell();
    }
    state.isRead = true;
    await checkpoints.end(state);
    tell();
  } catch (error) {
    // If this checkpoint cannot be stored, the previous one holds. The first error is reported.
    await checkpoints.end(state).catch(() => undefined);
    throw error;
  } finally {
    spool.close();
  }
  return { rows: state.rows, spoolBytes: spool.bytes, isResumed: resumed !== null };
};

const isSpoolThere = (folder: string, { spoolBytes }: Checkpoint): boolean =>
  (statSync(spoolFile(folder), { throwIfNoEntry: false })?.size ?? -1) >= spoolBytes;

type State = Omit<Checkpoint, 'format' | 'key'>;

const newState = ({ mode }: ImportRequest): State => ({
  mode,
  startedAt: Date.now(),
  position: null,
  rows: 0,
  spoolBytes: 0,
  isRead: false,
});

const createCheckpoints = (
  folder: string,
  { spool, key, limits }: { spool: SpoolWriter; key: string | null; limits: KeeperLimits },
) => {
  let lastMs = performance.now();
  let lastBytes = spool.bytes;
  let underWay: Promise<void> | null = null;
  let failure: { cause: unknown } | null = null;

  const write = async (state: State): Promise<void> => {
    spool.flush();
    lastMs = performance.now();
    lastBytes = spool.bytes;
    if (key === null) return;
    const checkpoint = { ...state, key, spoolBytes: spool.bytes };
    await spool.sync();
    writeCheckpoint(folder, checkpoint);
  };
  const isDue = (): boolean => {
    const bytes = spool.bytes + spool.bufferedBytes - lastBytes;
    const elapsedMs = performance.now() - lastMs;
    return (
      bytes >= limits.checkpointBytes ||
      elapsedMs >= slowCheckpointMs ||
      (elapsedMs >= checkpointMs && bytes >= leastBytes)
    );
  };

  return {
    /** Starts a checkpoint of `state` when one is due. The next one starts after it is on the disk. */
    offer: (state: State): void => {
      if (failure !== null) throw failure.cause;
      if (key === null || underWay !== null || !isDue()) return;
      underWay = write(state)
        .then(() => {
          underWay = null;
        })
        .catch((cause: unknown) => {
          failure = { cause };
        });
    },
    /** Writes the last checkpoint. Rejects if this or an earlier one could not be written. */
    end: async (state: State): Promise<void> => {
      await underWay;
      if (failure !== null) throw failure.cause;
      await write(state);
    },
  };
};
