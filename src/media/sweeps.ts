import type { Clock } from '../kit/clock.ts';
import type { Log } from '../kit/log.ts';
import { repeat } from '../kit/repeat.ts';
import type { Store } from '../store/store.ts';
import type { InputFolder } from './input-folder.ts';
import type { MediaFiles } from './media-files.ts';

const sweepEveryMs = 60_000;
const leftoversEveryMs = 3_600_000;
/** An unfinished write that is older counts as left by a dead process. */
const leftoverAgeMs = 24 * 3_600_000;
const checkMs = 30_000;
/** Videos made here are recognised for this long, far longer than they can be downloaded. */
const madeClipKeptMs = 30 * 24 * 3_600_000;
/** As long as the idempotency key of a search or tool call, by which its answer is given again. */
const resultsKeptMs = 48 * 3_600_000;
const rowBatch = 1_000;
const maxRowBatches = 100;

export interface SweepsOptions {
  store: Pick<
    Store,
    | 'listExpiredMedia'
    | 'markMediaRemoved'
    | 'sweepIdempotencyKeys'
    | 'sweepMadeClips'
    | 'sweepSpentNonces'
    | 'sweepOAuthRecords'
    | 'sweepAskedCalls'
    | 'sweepConsoleSessions'
    | 'forgetResults'
    | 'tellLowBalances'
  >;
  files: Pick<MediaFiles, 'place' | 'remove' | 'removeLeftovers' | 'check' | 'usedSince'>;
  inputFolder: Pick<InputFolder, 'sweep'>;
  clock: Clock;
  log: Log;
  checkEveryMs?: number;
}

export type PlaceState = 'unknown' | 'ready' | 'unavailable';

/** Removes expired data in the background: bytes, unfinished writes, rows. Also checks the media storage. */
export const createSweeps = ({
  store,
  files,
  inputFolder,
  clock,
  log,
  checkEveryMs = 30_000,
}: SweepsOptions) => {
  let place: PlaceState = 'unknown';

  const checkPlace = async (signal: AbortSignal): Promise<void> => {
    const before = place;
    try {
      await files.check({ signal: AbortSignal.any([signal, AbortSignal.timeout(checkMs)]) });
      place = 'ready';
      if (before !== place) log.info(`Media are kept in ${files.place}.`);
    } catch (error) {
      signal.throwIfAborted();
      place = 'unavailable';
      if (before !== place)
        log.warn({ err: error }, `Media cannot be kept now: ${files.place} does not answer as it should.`);
    }
  };

  /** Sweeps until the signal aborts; resolves when the last sweep has ended. */
  const begin = async (signal: AbortSignal): Promise<void> => {
    const every = (intervalMs: number, what: string, work: () => Promise<unknown>): Promise<void> =>
      repeat({ what, intervalMs, signal, log, work: async () => void (await work()) });
    const everyRows = (intervalMs: number, what: string, sweep: (limit: number) => Promise<number>) =>
      every(intervalMs, what, async () => {
        for (let batch = 0; batch < maxRowBatches && !signal.aborted; batch += 1)
          if ((await sweep(rowBatch)) < rowBatch) return;
      });
    await Promise.all([
      every(checkEveryMs, 'asking where media are kept', () => checkPlace(signal)),
      every(sweepEveryMs, 'removing expired media', async () => {
        const removed = await sweepMedia({ store, files, clock, log, signal });
        if (removed > 0) log.info({ removed }, 'expired media were removed');
      }),
      every(leftoversEveryMs, 'marking the place of the media', () => files.usedSince({ signal })),
      every(leftoversEveryMs, 'removing unfinished media', async () => {
        const removed = await files.removeLeftovers({ olderThan: clock.now() - leftoverAgeMs, signal });
        if (removed > 0) log.info({ removed }, 'unfinished media were removed');
      }),
      every(leftoversEveryMs, 'removing unfinished inputs', () => inputFolder.sweep()),
      ...Object.entries({
        'removing idempotency keys': store.sweepIdempotencyKeys,
        'removing nonces of sign-ins': store.sweepSpentNonces,
        'removing records of sign-ins': store.sweepOAuthRecords,
        'removing calls that waited for a person': store.sweepAskedCalls,
        'telling of low balances': store.tellLowBalances,
        'removing sessions of the console': store.sweepConsoleSessions,
      }).map(([what, sweep]) => everyRows(sweepEveryMs, what, (limit) => sweep({ now: clock.now(), limit }))),
      everyRows(sweepEveryMs, 'forgetting what searches and tools found', (limit) =>
        store.forgetResults({ endedBefore: clock.now() - resultsKeptMs, limit }),
      ),
      everyRows(leftoversEveryMs, 'forgetting videos that were made here', (limit) =>
        store.sweepMadeClips({ madeBefore: clock.now() - madeClipKeptMs, limit }),
      ),
    ]);
  };
  return { begin, /** Returns the result of the last check of the media storage. */ place: () => place };
};

export type Sweeps = ReturnType<typeof createSweeps>;

const batchSize = 100;
const removalsAtOnce = 8;
/** A sweep ends after this many batches; the next one continues. */
const maxBatches = 100;

export interface SweepMediaOptions extends Pick<SweepsOptions, 'clock' | 'log'> {
  store: Pick<Store, 'listExpiredMedia' | 'markMediaRemoved'>;
  files: Pick<MediaFiles, 'remove' | 'check'>;
  signal: AbortSignal;
}

/**
 * Removes the bytes durably before it marks the row: after a crash they may be removed twice, but are never forgotten.
 * Bytes that cannot be removed do not delay the others; the next sweep tries again. Returns how many were removed.
 */
export const sweepMedia = async ({
  store,
  files,
  clock,
  log,
  signal,
}: SweepMediaOptions): Promise<number> => {
  const stuck = new Map<string, unknown>();
  let removed = 0;

  /** Returns false if nothing could be removed because the storage does not answer. */
  const removeGroup = async (ids: readonly string[]): Promise<boolean> => {
    await Promise.all(
      ids.map((id) => files.remove(id, { signal }).catch((error: unknown) => stuck.set(id, error))),
    );
    const gone = ids.filter((id) => !stuck.has(id));
    if (gone.length === 0)
      // The removal's own error, which is logged, says more than the error of the check.
      return files.check({ signal }).then(
        () => true,
        () => false,
      );
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
    // The list begins with the stuck media every time.
    const limit = batchSize + stuck.size;
    const expired = await store.listExpiredMedia({ now: clock.now(), limit });
    const ids = expired.map(({ id }) => id).filter((id) => !stuck.has(id));
    if (!(await removeBatch(ids)) || expired.length < limit) break;
  }
  const [cause] = stuck.values();
  if (stuck.size > 0 && !signal.aborted)
    log.error({ err: cause, media: stuck.size }, 'the bytes of expired media could not be removed');
  return removed;
};
