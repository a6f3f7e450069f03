import { Worker } from 'node:worker_threads';
import type { Lead, LeadQuery } from '../../lead-source.ts';
import { createSearchQueue, searchFailed, searchInterrupted } from '../../search-queue.ts';
import type { ReadMessage, ReadRequest, ServedGeneration } from './messages.ts';

export interface ReaderLimits {
  /** Searches that may wait while one runs. More are refused. */
  maxWaiting: number;
  /** For one search, waiting and running together. */
  searchTimeoutMs: number;
  /** A thread that is busy with one search for longer is abandoned. */
  stuckAfterMs: number;
  openTimeoutMs: number;
}

/** The end of a reader. After `damaged` the same files cannot be served again. */
export type ReaderEnd = { kind: 'closed' } | { kind: 'crashed' | 'damaged'; cause: unknown };

/** The profiles of a folder, searched by a separate thread. */
export interface Reader {
  /** The current generation. Searches answered after a change use the new one. */
  readonly served: ServedGeneration;
  search(query: LeadQuery, signal: AbortSignal): Promise<Lead[]>;
  /** Resolves when no more searches are answered: after `close`, or when the thread was lost. Never rejects. */
  readonly ended: Promise<ReaderEnd>;
  close(): Promise<void>;
}

export interface OpenReaderInput {
  folder: string;
  limits: ReaderLimits;
  /** Called with each further generation. */
  onSwitched?: (served: ServedGeneration) => void;
  /** Called when a new generation cannot be opened. The former one stays in use. */
  onNotSwitched?: (cause: Error) => void;
  /** Starts the thread. Tests replace it. */
  startWorker?: (folder: string) => Worker;
}

/** The searched files are damaged or were never complete. */
export class IndexDamagedError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'IndexDamagedError';
  }
}

export const startReadWorker = (folder: string): Worker =>
  new Worker(new URL('./worker.ts', import.meta.url), { workerData: { folder } });

/**
 * Opens the current generation of `folder` in a new thread. Rejects if the thread cannot open it in time, with
 * IndexDamagedError if these files never can be opened.
 */
export const openReader = async ({
  folder,
  limits,
  onSwitched,
  onNotSwitched,
  startWorker = startReadWorker,
}: OpenReaderInput): Promise<Reader> => {
  const worker = startWorker(folder);
  const ended = Promise.withResolvers<ReaderEnd>();
  const opened = Promise.withResolvers<ServedGeneration>();
  let served: ServedGeneration | null = null;
  let stuckTimer: NodeJS.Timeout | undefined;
  let isOver = false;

  const queue = createSearchQueue({
    maxRunning: 1,
    maxSearches: limits.maxWaiting + 1,
    timeoutMs: limits.searchTimeoutMs,
    run: (id, query) => {
      stuckTimer = setTimeout(
        () => end({ kind: 'crashed', cause: new Error('A search did not end.') }),
        limits.stuckAfterMs,
      );
      const request: ReadRequest = { id, query };
      worker.postMessage(request);
    },
    // Its outcome comes soon and is ignored.
    abandon: () => undefined,
  });

  const end = (reason: ReaderEnd): void => {
    if (isOver) return;
    isOver = true;
    clearTimeout(stuckTimer);
    clearTimeout(openTimer);
    opened.reject(reason.kind === 'closed' ? new Error('The reader was closed.') : reason.cause);
    ended.resolve(reason);
    queue.refuseAll(searchInterrupted());
    void worker.terminate();
  };
  const openTimer = setTimeout(
    () => end({ kind: 'crashed', cause: new Error('The lead index did not open in time.') }),
    limits.openTimeoutMs,
  );

  const receive = (message: ReadMessage): void => {
    switch (message.kind) {
      case 'serving':
        clearTimeout(openTimer);
        if (served !== null) onSwitched?.(message.served);
        served = message.served;
        return opened.resolve(message.served);
      case 'not-switched':
        return onNotSwitched?.(new Error(message.cause));
      case 'found':
        clearTimeout(stuckTimer);
        return queue.settle(message.id, { leads: message.leads });
      case 'failed':
        clearTimeout(stuckTimer);
        return queue.settle(message.id, { cause: searchFailed(new Error(message.cause)) });
      case 'damaged':
        return end({ kind: 'damaged', cause: new IndexDamagedError(message.cause) });
    }
  };
  worker.on('message', receive);
  worker.on('error', (cause) => end({ kind: 'crashed', cause }));
  worker.on('exit', (code) => end({ kind: 'crashed', cause: new Error(`It exited with code ${code}.`) }));

  const first = await opened.promise;
  return {
    get served() {
      return served ?? first;
    },
    ended: ended.promise,
    search: async (query, signal) => {
      if (isOver) throw searchInterrupted();
      return queue.add(query, signal);
    },
    close: async () => {
      end({ kind: 'closed' });
      await worker.terminate();
    },
  };
};
