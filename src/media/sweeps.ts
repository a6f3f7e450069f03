import type { Clock } from '../clock.ts';
import type { Log } from '../log.ts';
import { repeat } from '../repeat.ts';
import type { Store } from '../store/store.ts';
import type { InputFolder } from './input-folder.ts';
import type { MediaFiles } from './media-files.ts';
import { sweepMedia } from './sweep-media.ts';

const sweepEveryMs = 60_000;
const leftoversEveryMs = 3_600_000;
/** A write may take so long before what it left counts as forgotten. */
const leftoverAgeMs = 24 * 3_600_000;
const checkMs = 30_000;
const keyBatch = 1_000;
const mostKeyBatches = 100;

export interface SweepsOptions {
  store: Pick<Store, 'listExpiredMedia' | 'markMediaRemoved' | 'sweepIdempotencyKeys'>;
  files: Pick<MediaFiles, 'place' | 'remove' | 'removeLeftovers' | 'check' | 'usedSince'>;
  inputFolder: Pick<InputFolder, 'sweep'>;
  clock: Clock;
  log: Log;
}

export interface Sweeps {
  /**
   * Sweeps until the signal aborts; resolves when the last sweep has ended. Says once in the log when the place of the
   * media does not answer, which does not stop anything.
   */
  begin(signal: AbortSignal): Promise<void>;
}

/** What goes on in the background so that nothing outlives its time: bytes, leftovers of dead writes, idempotency keys. */
export const createSweeps = ({ store, files, inputFolder, clock, log }: SweepsOptions): Sweeps => ({
  begin: async (signal) => {
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
      checkPlace({ files, log, signal }),
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
      every(sweepEveryMs, 'removing idempotency keys', () => sweepKeys({ store, clock, signal })),
    ]);
  },
});

const checkPlace = async ({
  files,
  log,
  signal,
}: Pick<SweepsOptions, 'files' | 'log'> & { signal: AbortSignal }): Promise<void> => {
  try {
    await files.check({ signal: AbortSignal.any([signal, AbortSignal.timeout(checkMs)]) });
    log.info(`Media are kept in ${files.place}.`);
  } catch (error) {
    if (!signal.aborted)
      log.warn({ err: error }, `Media cannot be kept now: ${files.place} does not answer as it should.`);
  }
};

const sweepKeys = async ({
  store,
  clock,
  signal,
}: Pick<SweepsOptions, 'store' | 'clock'> & { signal: AbortSignal }): Promise<void> => {
  for (let batch = 0; batch < mostKeyBatches && !signal.aborted; batch += 1) {
    const swept = await store.sweepIdempotencyKeys({ now: clock.now(), limit: keyBatch });
    if (swept < keyBatch) return;
  }
};
