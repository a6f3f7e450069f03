import { Worker } from 'node:worker_threads';
import { AppError } from '../../../errors.ts';
import type { Lead, LeadQuery } from '../../lead-source.ts';
import type { ReadMessage, ReadRequest } from './messages.ts';
import { createSearchQueue } from './search-queue.ts';

export interface ReaderLimits {
  /** Searches that may wait beside the one that runs; more are refused. */
  maxWaiting: number;
  /** For one search, waiting and running together. */
  searchTimeoutMs: number;
  /** A thread busy with one search for longer is given up. */
  stuckAfterMs: number;
  openTimeoutMs: number;
}

/** Why a reader is no more. `damaged`: its file must be built anew. */
export type ReaderEnd = { kind: 'closed' } | { kind: 'crashed' | 'damaged'; cause: unknown };

/** An index served by a thread of its own. */
export interface Reader {
  readonly synthetic: boolean;
  readonly profiles: number;
  search(query: LeadQuery, signal: AbortSignal): Promise<Lead[]>;
  /** Resolves, never rejects, when no search is answered any more: after `close`, or when the thread was lost. */
  readonly ended: Promise<ReaderEnd>;
  close(): Promise<void>;
}

export interface OpenReaderInput {
  file: string;
  limits: ReaderLimits;
  /** Starts the thread; tests keep hold of it. */
  startWorker?: (file: string) => Worker;
}

export const startReadWorker = (file: string): Worker =>
  new Worker(new URL('./worker.ts', import.meta.url), { workerData: { file } });

/** Opens the index in `file` in a new thread. Rejects when the thread cannot open it in time. */
export const openReader = async ({
  file,
  limits,
  startWorker = startReadWorker,
}: OpenReaderInput): Promise<Reader> => {
  const worker = startWorker(file);
  const ended = Promise.withResolvers<ReaderEnd>();
  const opened = Promise.withResolvers<{ synthetic: boolean; profiles: number }>();
  let stuckTimer: NodeJS.Timeout | undefined;
  let isOver = false;

  const queue = createSearchQueue({
    maxWaiting: limits.maxWaiting,
    timeoutMs: limits.searchTimeoutMs,
    run: (id, query) => {
      stuckTimer = setTimeout(
        () => end({ kind: 'crashed', cause: new Error('A search did not end.') }),
        limits.stuckAfterMs,
      );
      const request: ReadRequest = { id, query };
      worker.postMessage(request);
    },
  });

  const end = (reason: ReaderEnd): void => {
    if (isOver) return;
    isOver = true;
    clearTimeout(stuckTimer);
    clearTimeout(openTimer);
    opened.reject(reason.kind === 'closed' ? new Error('The reader was closed.') : reason.cause);
    ended.resolve(reason);
    queue.refuseAll(interrupted());
    void worker.terminate();
  };
  const openTimer = setTimeout(
    () => end({ kind: 'crashed', cause: new Error('The lead index did not open in time.') }),
    limits.openTimeoutMs,
  );

  const receive = (message: ReadMessage): void => {
    switch (message.kind) {
      case 'opened':
        clearTimeout(openTimer);
        return opened.resolve(message);
      case 'found':
        clearTimeout(stuckTimer);
        return queue.settle(message.id, { leads: message.leads });
      case 'failed':
        clearTimeout(stuckTimer);
        return queue.settle(message.id, { cause: searchFailed(message.cause) });
      case 'damaged':
        return end({ kind: 'damaged', cause: new Error(message.cause) });
    }
  };
  worker.on('message', receive);
  worker.on('error', (cause) => end({ kind: 'crashed', cause }));
  worker.on('exit', (code) => end({ kind: 'crashed', cause: new Error(`It exited with code ${code}.`) }));

  const { synthetic, profiles } = await opened.promise;
  return {
    synthetic,
    profiles,
    ended: ended.promise,
    search: async (query, signal) => {
      if (isOver) throw interrupted();
      return queue.add(query, signal);
    },
    close: async () => {
      end({ kind: 'closed' });
      await worker.terminate();
    },
  };
};

const interrupted = (): AppError =>
  new AppError('upstream_error', 'The search was interrupted. Try again in a moment.', {
    retryAfterSeconds: 1,
  });

const searchFailed = (cause: string): AppError =>
  new AppError('upstream_error', 'The search failed. Try again in a moment.', {
    retryAfterSeconds: 1,
    cause: new Error(cause),
  });
