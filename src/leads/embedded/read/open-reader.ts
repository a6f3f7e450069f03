import { Worker } from 'node:worker_threads';
import type { Lead, LeadQuery } from '../../lead-source.ts';
import { connectThread, type ThreadEnd } from '../../../kit/threads/connect-thread.ts';
import { ThreadError } from '../../../kit/threads/thread-error.ts';
import { createSearchLine } from '../../search-line.ts';
import type { ReadEvent, ServedGeneration } from './messages.ts';

export interface ReaderLimits {
  /** The searches that may wait beside the one that runs; more are refused. */
  maxWaiting: number;
  /** The limit of one search, waiting and running together. */
  searchTimeoutMs: number;
  /** A thread is ended when a search has run in it for longer. */
  stuckAfterMs: number;
  openTimeoutMs: number;
}

/** `damaged`: the index cannot be served again as it is. */
export type ReaderEnd = ThreadEnd | { kind: 'damaged'; cause: unknown };

/** Searches the profiles of a folder in a thread of its own. */
export type Reader = Awaited<ReturnType<typeof openReader>>;

export interface OpenReaderInput {
  folder: string;
  limits: ReaderLimits;
  /** Called with each further generation that is searched from now on. */
  onSwitched?: (served: ServedGeneration) => void;
  /** Called when a new generation cannot be opened; the one before is searched on. */
  onNotSwitched?: (cause: Error) => void;
  /** Starts the thread. Tests replace it. */
  startWorker?: (folder: string) => Worker;
}

export class IndexDamagedError extends Error {
  override readonly name = 'IndexDamagedError';
}

export const startReadWorker = (folder: string): Worker =>
  new Worker(new URL('./worker.ts', import.meta.url), { workerData: { folder } });

/**
 * Opens the current generation of `folder` in a new thread. Rejects when the thread cannot open it in time, and with
 * IndexDamagedError when no retry will help.
 */
export const openReader = async ({
  folder,
  limits,
  onSwitched,
  onNotSwitched,
  startWorker = startReadWorker,
}: OpenReaderInput) => {
  const opened = Promise.withResolvers<ServedGeneration>();
  let served: ServedGeneration | null = null;

  const receive = (event: ReadEvent): void => {
    switch (event.kind) {
      case 'serving':
        if (served !== null) onSwitched?.(event.served);
        served = event.served;
        return opened.resolve(event.served);
      case 'not-switched':
        return onNotSwitched?.(new Error(event.cause));
      case 'damaged':
        return void thread.end(new IndexDamagedError(event.cause));
    }
  };
  const thread = connectThread<LeadQuery, Lead[], ReadEvent>(startWorker(folder), {
    name: 'the thread that searches the lead index',
    timeoutMs: limits.stuckAfterMs,
    endsOnTimeout: true,
    onEvent: receive,
  });
  const ended = thread.ended.then(toEnd);
  void ended.then((end) =>
    opened.reject(end.kind === 'closed' ? new Error('The reader was closed.') : end.cause),
  );
  const openTimer = setTimeout(
    () => void thread.end(new Error('The lead index did not open in time.')),
    limits.openTimeoutMs,
  );
  const first = await opened.promise.finally(() => clearTimeout(openTimer));
  return {
    /** The generation that is searched now. Searches answered after a change are of the new one. */
    get served(): ServedGeneration {
      return served ?? first;
    },
    /** Resolves, never rejects, when no search is answered any more: after `close`, or when the thread was lost. */
    ended,
    search: createSearchLine({
      thread,
      maxWaiting: limits.maxWaiting,
      timeoutMs: limits.searchTimeoutMs,
    }),
    close: (): Promise<void> => thread.end(new ThreadError('closed', 'The reader was closed.')),
  };
};

const toEnd = (end: ThreadEnd): ReaderEnd =>
  end.kind === 'crashed' && end.cause instanceof IndexDamagedError
    ? { kind: 'damaged', cause: end.cause }
    : end;
