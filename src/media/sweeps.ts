import type { Clock } from '../kit/clock.ts';
import type { Log } from '../kit/log.ts';
import { repeat } from '../kit/repeat.ts';
import type { Store } from '../store/store.ts';
import type { InputFolder } from './input-folder.ts';
import type { MediaFiles } from './media-files.ts';

const sweepEveryMs = 60_000;
const leftoversEveryMs = 3_600_000;
/** A write may take so long before what it left counts as forgotten. */
const leftoverAgeMs = 24 * 3_600_000;
const checkMs = 30_000;
/** A video that was made here is known again for so long, far longer than it can be downloaded. */
const madeClipKeptMs = 30 * 24 * 3_600_000;
const rowBatch = 1_000;
const maxRowBatches = 100;

export interface SweepsOptions {
  store: Pick<Store, 'listExpiredMedia' | 'markMediaRemoved' | 'sweepIdempotencyKeys' | 'sweepMadeClips'>;
  files: Pick<MediaFiles, 'place' | 'remove' | 'removeLeftovers' | 'check' | 'usedSince'>;
  inputFolder: Pick<InputFolder, 'sweep'>;
  clock: Clock;
  log: Log;
  /** How often the place of the media is asked whether it answers. */
  checkEveryMs?: number;
}

export interface Sweeps {
  /**
   * Sweeps until the signal aborts; resolves when the last sweep has ended. Says in the log when the place of the
   * media ceases to answer and when it answers again, which does not stop anything.
   */
  begin(signal: AbortSignal): Promise<void>;
  /** Whether the place of the media answered when it was last asked. */
  place(): PlaceState;
}

export type PlaceState = 'unknown' | 'ready' | 'unavailable';

/** What goes on in the background so that nothing outlives its time: bytes, leftovers of dead writes, rows. */
export const createSweeps = ({
  store,
  files,
  inputFolder,
  clock,
  log,
  checkEveryMs = 30_000,
}: SweepsOptions): Sweeps => {
  let place: PlaceState = 'unknown';
  const begin = async (signal: AbortSignal): Promise<void> => {
    const every = (intervalMs: number, what: string, work: () => Promise<void>): Promise<void> =>
      repeat({
        what,
        intervalMs,
        signal,
        log,
        work: async () => {
          try {
            await work();
          } catch (error) {
            if (!signal.aborted) throw error;
          }
        },
      });
    await Promise.all([
      every(checkEveryMs, 'asking where media are kept', async () => {
        place = await askPlace(place, { files, log, signal });
      }),
      every(sweepEveryMs, 'removing expired media', async () => {
        const removed = await sweepMedia({ store, files, clock, log, signal });
        if (removed > 0) log.info({ removed }, 'expired media were removed');
      }),
      every(leftoversEveryMs, 'marking the place of the media', async () => {
        await files.usedSince({ signal });
      }),
      every(leftoversEveryMs, 'removing unfinished media', async () => {
        const removed = await files.removeLeftovers({ olderThan: clock.now() - leftoverAgeMs, signal });
        if (removed > 0) log.info({ removed }, 'unfinished media were removed');
      }),
      every(leftoversEveryMs, 'removing unfinished inputs', () => inputFolder.sweep()),
      every(sweepEveryMs, 'removing idempotency keys', () =>
        sweepRows((limit) => store.sweepIdempotencyKeys({ now: clock.now(), limit }), signal),
      ),
      every(leftoversEveryMs, 'forgetting videos that were made here', () =>
        sweepRows(
          (limit) => store.sweepMadeClips({ madeBefore: clock.now() - madeClipKeptMs, limit }),
          signal,
        ),
      ),
    ]);
  };
  return { begin, place: () => place };
};

const askPlace = async (
  before: PlaceState,
  { files, log, signal }: Pick<SweepsOptions, 'files' | 'log'> & { signal: AbortSignal },
): Promise<PlaceState> => {
  try {
    await files.check({ signal: AbortSignal.any([signal, AbortSignal.timeout(checkMs)]) });
    if (before !== 'ready') log.info(`Media are kept in ${files.place}.`);
    return 'ready';
  } catch (error) {
    if (signal.aborted) return before;
    if (before !== 'unavailable')
      log.warn({ err: error }, `Media cannot be kept now: ${files.place} does not answer as it should.`);
    return 'unavailable';
  }
};

const sweepRows = async (sweep: (limit: number) => Promise<number>, signal: AbortSignal): Promise<void> => {
  for (let batch = 0; batch < maxRowBatches && !signal.aborted; batch += 1)
    if ((await sweep(rowBatch)) < rowBatch) return;
};

const batchSize = 100;
const removalsAtOnce = 8;
/** One sweep ends after so many batches; the next one goes on. */
const maxBatches = 100;

export interface SweepMediaOptions {
  store: Pick<Store, 'listExpiredMedia' | 'markMediaRemoved'>;
  files: Pick<MediaFiles, 'remove' | 'check'>;
  clock: Clock;
  log: Log;
  signal: AbortSignal;
}

/**
 * Removes the bytes of media whose time is over; answers of how many. The bytes go first and durably, then the row says
 * so: after a crash, or beside another process, the worst is that the same bytes are removed twice. Bytes that cannot be
 * removed do not hold up the others, and are tried again by the next sweep.
 */
export const sweepMedia = async ({
  store,
  files,
  clock,
  log,
  signal,
}: SweepMediaOptions): Promise<number> => {
  const stuck = new Set<string>();
  let cause: unknown;
  let removed = 0;

  const removeBytes = async (id: string): Promise<void> => {
    try {
      await files.remove(id, { signal });
    } catch (error) {
      stuck.add(id);
      cause = error;
    }
  };

  /** False when nothing of the group could be removed because the place itself does not answer. */
  const removeGroup = async (group: readonly string[]): Promise<boolean> => {
    await Promise.all(group.map(removeBytes));
    const gone = group.filter((id) => !stuck.has(id));
    if (gone.length === 0) return doesAnswer(files, signal);
    await store.markMediaRemoved({ ids: gone, now: clock.now() });
    removed += gone.length;
    return true;
  };

  const removeBatch = async (ids: readonly string[]): Promise<boolean> => {
    for (let start = 0; start < ids.length; start += removalsAtOnce) {
      if (signal.aborted || !(await removeGroup(ids.slice(start, start + removalsAtOnce)))) return false;
    }
    return true;
  };

  for (let batch = 0; batch < maxBatches && !signal.aborted; batch += 1) {
    // What is stuck comes first in the list, again and again.
    const limit = batchSize + stuck.size;
    const expired = await store.listExpiredMedia({ now: clock.now(), limit });
    const ids = expired.map(({ id }) => id).filter((id) => !stuck.has(id));
    if (!(await removeBatch(ids)) || expired.length < limit) break;
  }
  if (stuck.size > 0 && !signal.aborted)
    log.error({ err: cause, media: stuck.size }, 'the bytes of expired media could not be removed');
  return removed;
};

const doesAnswer = async (files: Pick<MediaFiles, 'check'>, signal: AbortSignal): Promise<boolean> => {
  try {
    await files.check({ signal });
    return true;
  } catch {
    // The failure to remove tells the log more.
    return false;
  }
};
