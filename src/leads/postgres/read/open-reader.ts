import { Worker } from 'node:worker_threads';
import type { Lead, LeadQuery } from '../../lead-source.ts';
import { createSearchQueue, searchFailed, searchInterrupted, tookTooLong } from '../../search-queue.ts';
import type { ForgottenCopy } from '../forgotten-copy.ts';
import type { ReadMessage, ReadRequest, ReadWorkerData, ServedLeads } from './messages.ts';

export interface ReaderLimits {
  /** Searches in line, waiting and running; more are refused. */
  searches: number;
  /** For one search, waiting and running together. */
  searchTimeoutMs: number;
  /** A thread that has not answered a search for so long is given up; longer than all time-outs in it together. */
  stuckAfterMs: number;
  /** For the connections to be closed. */
  closeTimeoutMs: number;
}

export type ReaderEnd = { kind: 'closed' } | { kind: 'crashed'; cause: unknown };

/** The profiles in a database, searched by a thread of its own. */
export interface Reader {
  search(query: LeadQuery, signal: AbortSignal): Promise<Lead[]>;
  /** Resolves, never rejects, when no search is answered any more: after `close`, or when the thread was lost. */
  readonly ended: Promise<ReaderEnd>;
  close(): Promise<void>;
}

export interface OpenReaderInput {
  workerData: ReadWorkerData;
  limits: ReaderLimits;
  onServing: (served: ServedLeads) => void;
  /** Told of the list of forgotten people at first, and whenever it is another. */
  onForgotten: (forgotten: ForgottenCopy) => void;
  /** Told what is for the log alone. */
  onTrouble: (kind: 'unanswering' | 'connection-broken', cause: Error) => void;
  /** Starts the thread; tests keep hold of it. */
  startWorker?: (workerData: ReadWorkerData) => Worker;
}

export const startReadWorker = (workerData: ReadWorkerData): Worker =>
  new Worker(new URL('./worker.ts', import.meta.url), { workerData });

/** Starts a thread that follows a database; what it finds there is told through `onServing`. */
export const openReader = ({
  workerData,
  limits,
  onServing,
  onForgotten,
  onTrouble,
  startWorker = startReadWorker,
}: OpenReaderInput): Reader => {
  const worker = startWorker(workerData);
  const ended = Promise.withResolvers<ReaderEnd>();
  const exited = Promise.withResolvers<void>();
  const stuckTimers = new Map<number, NodeJS.Timeout>();
  let isOver = false;

  const ask = (request: ReadRequest): void => worker.postMessage(request);
  const queue = createSearchQueue({
    maxRunning: workerData.connections,
    maxSearches: limits.searches,
    timeoutMs: limits.searchTimeoutMs,
    run: (id, query) => {
      stuckTimers.set(id, setTimeout(giveUp, limits.stuckAfterMs));
      ask({ kind: 'search', id, query });
    },
    abandon: (id) => ask({ kind: 'abandon', id }),
  });

  const end = (reason: ReaderEnd): void => {
    if (isOver) return;
    isOver = true;
    for (const timer of stuckTimers.values()) clearTimeout(timer);
    ended.resolve(reason);
    queue.refuseAll(searchInterrupted());
  };
  const lose = (cause: unknown): void => {
    end({ kind: 'crashed', cause });
    void worker.terminate();
  };
  const giveUp = (): void => lose(new Error('A search did not end.'));
  const settle = (id: number, outcome: Parameters<typeof queue.settle>[1]): void => {
    clearTimeout(stuckTimers.get(id));
    stuckTimers.delete(id);
    queue.settle(id, outcome);
  };

  const receive = (message: ReadMessage): void => {
    if (isOver) return;
    switch (message.kind) {
      case 'serving':
        return onServing(message.served);
      case 'forgotten':
        return onForgotten(message.forgotten);
      case 'unanswering':
      case 'connection-broken':
        return onTrouble(message.kind, new Error(message.cause));
      case 'found':
        return settle(message.id, { leads: JSON.parse(message.leads) });
      case 'failed': {
        const cause = new Error(message.cause);
        return settle(message.id, { cause: message.isLate ? tookTooLong(cause) : searchFailed(cause) });
      }
    }
  };
  worker.on('message', receive);
  worker.on('error', lose);
  worker.on('exit', (code) => {
    exited.resolve();
    lose(new Error(`It exited with code ${code}.`));
  });

  return {
    ended: ended.promise,
    search: async (query, signal) => {
      if (isOver) throw searchInterrupted();
      return queue.add(query, signal);
    },
    close: async () => {
      end({ kind: 'closed' });
      ask({ kind: 'close' });
      const timer = setTimeout(() => void worker.terminate(), limits.closeTimeoutMs);
      await exited.promise;
      clearTimeout(timer);
    },
  };
};
