import { Worker } from 'node:worker_threads';
import type { LeadQuery } from '../../lead-source.ts';
import { connectThread, type ThreadEnd } from '../../../kit/threads/connect-thread.ts';
import { createSearchLine, tookTooLong, type SearchLine } from '../../search-line.ts';
import type { ForgottenCopy } from '../forgotten-copy.ts';
import type { FoundLeads, ReadEvent, ReadWorkerData, ServedLeads } from './messages.ts';

export interface ReaderLimits {
  /** The searches that wait and run together; more are refused. */
  searches: number;
  /** The limit of one search, waiting and running together. */
  searchTimeoutMs: number;
  /** A thread that has not answered a search for so long is ended; longer than all time-outs in it together. */
  stuckAfterMs: number;
  /** The time for closing the connections. */
  closeTimeoutMs: number;
}

/** Searches the profiles of a database in a thread of its own. */
export interface Reader {
  search: SearchLine;
  /** Resolves, never rejects, when no search is answered any more: after `close`, or when the thread was lost. */
  readonly ended: Promise<ThreadEnd>;
  close(): Promise<void>;
}

export interface OpenReaderInput {
  workerData: ReadWorkerData;
  limits: ReaderLimits;
  onServing: (served: ServedLeads) => void;
  /** Called with the list of forgotten people at first, and whenever it has changed. */
  onForgotten: (forgotten: ForgottenCopy) => void;
  /** Called with events that are only for the log. */
  onTrouble: (kind: 'unanswering' | 'connection-broken', cause: Error) => void;
  /** Starts the thread; tests keep hold of it. */
  startWorker?: (workerData: ReadWorkerData) => Worker;
}

export const startReadWorker = (workerData: ReadWorkerData): Worker =>
  new Worker(new URL('./worker.ts', import.meta.url), { workerData });

/** Starts a thread that follows a database and reports its content through `onServing`. */
export const openReader = ({
  workerData,
  limits,
  onServing,
  onForgotten,
  onTrouble,
  startWorker = startReadWorker,
}: OpenReaderInput): Reader => {
  const receive = (event: ReadEvent): void => {
    if (isClosed) return;
    switch (event.kind) {
      case 'serving':
        return onServing(event.served);
      case 'forgotten':
        return onForgotten(event.forgotten);
      case 'unanswering':
      case 'connection-broken':
        return onTrouble(event.kind, new Error(event.cause));
    }
  };
  let isClosed = false;
  const thread = connectThread<LeadQuery, FoundLeads, ReadEvent>(startWorker(workerData), {
    name: 'the thread that searches in PostgreSQL',
    timeoutMs: limits.stuckAfterMs,
    endsOnTimeout: true,
    onEvent: receive,
  });
  return {
    ended: thread.ended,
    search: createSearchLine({
      thread,
      atOnce: Math.min(workerData.connections, limits.searches),
      maxWaiting: Math.max(0, limits.searches - workerData.connections),
      timeoutMs: limits.searchTimeoutMs,
      toLeads: (found) => {
        if ('lateCause' in found) throw tookTooLong(new Error(found.lateCause));
        return JSON.parse(found.leads);
      },
    }),
    close: () => {
      isClosed = true;
      return thread.close(limits.closeTimeoutMs);
    },
  };
};
