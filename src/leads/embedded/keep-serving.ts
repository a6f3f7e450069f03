import type { Worker } from 'node:worker_threads';
import type { Log } from '../../kit/log.ts';
import { pause } from '../../kit/repeat.ts';
import { runBuild } from './build/run-build.ts';
import { folderStamp, holdsReal, unlessReal, whenChanged } from './folder-changes.ts';
import { nextStep } from './next-step.ts';
import type { ServedGeneration } from './read/messages.ts';
import { IndexDamagedError, openReader, type Reader, type ReaderLimits } from './read/open-reader.ts';
import type { SyntheticSet } from './synthetic-set.ts';

export interface ServingLimits extends ReaderLimits {
  buildTimeoutMs: number;
  /** The wait before the first retry after a failure. It doubles with every further failure. */
  firstRetryMs: number;
  maxRetryMs: number;
}

export interface KeepServingInput {
  folder: string;
  synthetic: SyntheticSet;
  limits: ServingLimits;
  log: Log;
  signal: AbortSignal;
  /** Called with each new reader, and with null when none is left. */
  onReader: (reader: Reader | null) => void;
  /**
   * Called with the reason why nothing can be served until somebody changes the folder: there are no profiles yet
   * (until the first ones are served), or they have a fault. Called with null when neither holds any more.
   */
  onWaiting: (reason: 'empty' | 'fault' | null) => void;
  startReadWorker: ((folder: string) => Worker) | undefined;
}

/** A reader that lives this long resets the retry delay. */
const steadyAfterMs = 60_000;

/**
 * Keeps the profiles in a folder served until `signal` aborts. Waits for missing files, builds fictional profiles, and
 * replaces dead threads, with growing waits between failures. Never rejects.
 */
export const keepServing = async (input: KeepServingInput): Promise<void> => {
  const { folder, limits, log, signal } = input;
  let failures = 0;
  /** The folder's stamp before something in it proved damaged. The same state is not tried again. */
  let damagedStamp: string | null = null;
  let hadReal = false;
  /** True while there have been no profiles so far. While the first ones are being written, there are still none. */
  let isEmpty = false;
  /** The last reported reason for waiting. */
  let toldReason: string | null = null;

  const onServed = (served: ServedGeneration): void => {
    hadReal ||= !served.synthetic;
    isEmpty = false;
    toldReason = null;
    if (!served.isFoldedAlike)
      log.warn(
        { folder },
        'another version indexed the profiles, so rare letters may not be found; the next import indexes them anew',
      );
  };

  const advance = async (stamp: string): Promise<void> => {
    hadReal ||= holdsReal(folder);
    const step = nextStep({ ...input, isDamaged: stamp === damagedStamp, hadReal });
    switch (step.kind) {
      case 'serve':
        return serve(input, onServed);
      case 'build':
        if (step.reason === null) log.info({ folder }, 'building the lead index in the background');
        else log.warn({ folder, reason: step.reason }, 'the lead index is unusable and is being rebuilt');
        return unlessReal(folder, {
          signal,
          work: (until) => runBuild({ ...input, timeoutMs: limits.buildTimeoutMs, signal: until }),
        });
      case 'wait':
        // While files are copied into the folder, it changes all the time.
        if (step.reason !== toldReason)
          log[step.isFault ? 'error' : 'warn'](
            { folder, reason: step.reason },
            'there are no profiles to search',
          );
        toldReason = step.reason;
        isEmpty = step.isEmpty === true || (isEmpty && !step.isFault);
        input.onWaiting(isEmpty ? 'empty' : 'fault');
        await whenChanged(folder, stamp, signal);
        if (!isEmpty) input.onWaiting(null);
    }
  };

  while (!signal.aborted) {
    const startedMs = performance.now();
    let stamp: string | null = null;
    try {
      stamp = await folderStamp(folder);
      await advance(stamp);
    } catch (err) {
      if (signal.aborted) break;
      isEmpty = false;
      input.onWaiting(null);
      const isDamage = err instanceof IndexDamagedError;
      if (isDamage) damagedStamp = stamp;
      log.error({ err, folder }, isDamage ? 'the lead index is damaged' : 'the lead index failed');
      failures = performance.now() - startedMs > steadyAfterMs ? 1 : failures + 1;
      await pause(Math.min(limits.maxRetryMs, limits.firstRetryMs * 2 ** (failures - 1)), signal);
    }
  }
};

/** Serves until the signal aborts. Rejects if the reader ends earlier. */
const serve = async (
  { folder, limits, log, signal, onReader, startReadWorker }: KeepServingInput,
  onServed: (served: ServedGeneration) => void,
): Promise<void> => {
  const reader = await openReader({
    folder,
    limits,
    onSwitched: (served) => {
      log.info({ folder, ...served }, 'searches use new profiles from now on');
      onServed(served);
    },
    onNotSwitched: (err) =>
      log.error({ err, folder }, 'the new profiles cannot be opened; searches use the former ones'),
    startWorker: startReadWorker,
  });
  if (signal.aborted) return reader.close();
  onServed(reader.served);
  onReader(reader);
  const end = await reader.ended;
  onReader(null);
  if (end.kind !== 'closed') throw end.cause;
};
