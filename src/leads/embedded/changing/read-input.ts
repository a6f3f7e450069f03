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
  /** The spool's part with the input; what else is added to it comes after. */
  spoolBytes: number;
  isResumed: boolean;
}

const checkpointMs = 1_000;
/** Slow inputs are not divided into many small pieces, which take long to gather: a second's is to be as large... */
const leastBytes = 4 * 1024 * 1024;
/** ...or as old. */
const slowCheckpointMs = 10_000;

/**
 * Reads the input into the staging folder, from where an earlier import of the same input stopped, if one did; an
 * unfinished import of another one is given up once this one has given a profile. Aborted, it stores how far it came and
 * rejects with the signal's reason, as it does with NoRoomError where the disk is nearly full. An input that cannot be read twice leaves no checkpoint, one that is refused nothing.
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
  /** Whether what is staged is this input's. */
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

const stage = async (
  folder: string,
  {
    request,
    limits,
    resumed,
    batches,
  }: {
    request: ImportRequest;
    limits: KeeperLimits;
    resumed: Checkpoint | null;
    batches: AsyncIterable<LeadBatch>;
  },
): Promise<StagedInput> => {
  const { input, signal, onProgress } = request;
  const state = resumed ?? newState(request);
  const spool = openSpoolWriter(spoolFile(folder), state.spoolBytes);
  const checkpoints = createCheckpoints({ folder, spool, key: input.key, limits });
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
    // What cannot be stored now was stored up to the checkpoint before; the first error is the one that tells.
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

interface Checkpoints {
  /** Begins a checkpoint of `state` when one is due; the next one is not begun before it is on the disk. */
  offer(state: State): void;
  /** A last checkpoint. Rejects when this or an earlier one could not be written. */
  end(state: State): Promise<void>;
}

const createCheckpoints = ({
  folder,
  spool,
  key,
  limits,
}: {
  folder: string;
  spool: SpoolWriter;
  key: string | null;
  limits: KeeperLimits;
}): Checkpoints => {
  let lastMs = performance.now();
  let lastBytes = spool.bytes;
  let underWay: Promise<void> | null = null;
  let failure: { cause: unknown } | null = null;

  const write = async (state: State): Promise<void> => {
    spool.flush();
    lastMs = performance.now();
    lastBytes = spool.bytes;
    const checkpoint = { ...state, spoolBytes: spool.bytes };
    if (key === null) return;
    await spool.sync();
    writeCheckpoint(folder, { ...checkpoint, key });
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
    offer: (state) => {
      if (failure !== null) throw failure.cause;
      if (key === null || underWay !== null || !isDue()) return;
      underWay = write(state).then(
        () => {
          underWay = null;
        },
        (cause: unknown) => {
          failure = { cause };
        },
      );
    },
    end: async (state) => {
      await underWay;
      if (failure !== null) throw failure.cause;
      await write(state);
    },
  };
};
