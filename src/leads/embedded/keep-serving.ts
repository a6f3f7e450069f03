import type { Worker } from 'node:worker_threads';
import type { Log } from '../../kit/log.ts';
import { pause } from '../../kit/repeat.ts';
import { createRefolding } from './build/refold-when-needed.ts';
import { runBuild } from './build/run-build.ts';
import { folderStamp, holdsReal, unlessReal, whenChanged } from './folder-changes.ts';
import { nextStep } from './next-step.ts';
import type { ServedGeneration } from './read/messages.ts';
import { IndexDamagedError, openReader, type Reader, type ReaderLimits } from './read/open-reader.ts';
import type { SyntheticSet } from './synthetic-set.ts';

export interface ServingLimits extends ReaderLimits {
  /** The whole of building an index. */
  buildTimeoutMs: number;
  /** The wait before the first new attempt after a failure, doubled with every further one. */
  firstRetryMs: number;
  maxRetryMs: number;
}

export interface KeepServingInput {
  folder: string;
  synthetic: SyntheticSet;
  limits: ServingLimits;
  log: Log;
  signal: AbortSignal;
  /** Told of each reader that serves from now on, and with null when none does. */
  onReader: (reader: Reader | null) => void;
  /**
   * Told why nothing can be served until somebody changes the folder: there are no profiles yet, which holds until the
   * first ones are served, or something is wrong with them. Null when neither is so any more.
   */
  onWaiting: (reason: 'empty' | 'fault' | null) => void;
  startReadWorker: ((folder: string) => Worker) | undefined;
}

/** A reader that has lived so long starts the row of failures anew. */
const steadyAfterMs = 60_000;

/**
 * Has the profiles in a folder served until `signal` aborts: waits for what is missing, builds what is fictional,
 * replaces threads that die, with growing waits between failures. Never rejects.
 */
export const keepServing = async (input: KeepServingInput): Promise<void> => {
  const { folder, limits, log, signal } = input;
  const building = { folder, timeoutMs: limits.buildTimeoutMs, signal, log };
  const refold = createRefolding(building);
  let failures = 0;
  /** The folder, as it was before something in it proved damaged: while it is so again, it is not tried again. */
  let damagedStamp: string | null = null;
  let hadReal = false;
  /** Whether there have been no profiles so far; while the first ones are written, there are none yet. */
  let isEmpty = false;
  /** What is waited for, as the operator was told. */
  let toldReason: string | null = null;

  const onServed = (served: ServedGeneration): void => {
    hadReal ||= !served.synthetic;
    isEmpty = false;
    toldReason = null;
    refold.served(served);
  };

  const advance = async (stamp: string): Promise<void> => {
    hadReal ||= holdsReal(folder);
    const step = nextStep({ ...input, isDamaged: stamp === damagedStamp, hadReal });
    switch (step.kind) {
      case 'serve':
        return serve(input, onServed);
      case 'build':
        if (step.reason === null) log.info({ folder }, 'building the lead index in the background');
        else log.warn({ folder, reason: step.reason }, 'the lead index cannot be used and is built anew');
        return unlessReal(folder, {
          signal,
          work: (until) =>
            runBuild({ ...building, signal: until, job: { kind: 'invent', synthetic: input.synthetic } }),
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
  await refold.ended();
};

/** Serves until the signal aborts; rejects when the reader ends before. */
const serve = async (
  { folder, limits, log, signal, onReader, startReadWorker }: KeepServingInput,
  onServed: (served: ServedGeneration) => void,
): Promise<void> => {
  const reader = await openReader({
    folder,
    limits,
    onSwitched: (served) => {
      log.info({ folder, ...served }, 'other profiles are searched from now on');
      onServed(served);
    },
    onNotSwitched: (err) =>
      log.error({ err, folder }, 'new profiles cannot be opened; the ones before are searched on'),
    startWorker: startReadWorker,
  });
  if (signal.aborted) return reader.close();
  onServed(reader.served);
  onReader(reader);
  const end = await reader.ended;
  onReader(null);
  if (end.kind !== 'closed') throw end.cause;
};
