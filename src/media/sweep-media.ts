import type { Clock } from '../kit/clock.ts';
import type { Log } from '../kit/log.ts';
import type { Store } from '../store/store.ts';
import type { MediaFiles } from './media-files.ts';

const batchSize = 100;
const removalsAtOnce = 8;
/** One sweep ends after so many batches; the next one goes on. */
const mostBatches = 100;

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

  for (let batch = 0; batch < mostBatches && !signal.aborted; batch += 1) {
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
