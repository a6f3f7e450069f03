import { AppError } from '../../../errors.ts';
import type { Lead, LeadQuery } from '../../lead-source.ts';

export interface SearchQueueOptions {
  /** Searches that may wait beside the one that runs; more are refused. */
  maxWaiting: number;
  /** Waiting and running together. */
  timeoutMs: number;
  /** Hands one search over to be run; its outcome comes back through `settle`. */
  run: (id: number, query: LeadQuery) => void;
}

type SearchOutcome = { leads: Lead[] } | { cause: unknown };

/** Searches in line for one thread that runs them one at a time. */
export interface SearchQueue {
  add(query: LeadQuery, signal: AbortSignal): Promise<Lead[]>;
  /** The outcome of the search that was handed over; the next one is handed over. */
  settle(id: number, outcome: SearchOutcome): void;
  /** Refuses everything in line with `error`. */
  refuseAll(error: AppError): void;
}

interface Search {
  id: number;
  query: LeadQuery;
  finish: (outcome: SearchOutcome) => void;
}

/**
 * A search that times out or is aborted is answered at once. Where it waits it leaves the line; where it runs, its
 * place stays taken until its outcome comes, which is then dropped.
 */
export const createSearchQueue = ({ maxWaiting, timeoutMs, run }: SearchQueueOptions): SearchQueue => {
  const waiting = new Map<number, Search>();
  let running: Search | null = null;
  let lastId = 0;

  const runNext = (): void => {
    if (running !== null) return;
    const [next] = waiting.values();
    if (next === undefined) return;
    waiting.delete(next.id);
    running = next;
    run(next.id, next.query);
  };

  return {
    add: (query, signal) =>
      new Promise((resolve, reject) => {
        signal.throwIfAborted();
        if (waiting.size >= maxWaiting)
          throw new AppError('upstream_error', 'Too many searches are waiting. Try again in a moment.', {
            retryAfterSeconds: 1,
          });
        const id = (lastId += 1);
        const finish = (outcome: SearchOutcome): void => {
          waiting.delete(id);
          clearTimeout(timer);
          signal.removeEventListener('abort', abort);
          if ('leads' in outcome) resolve(outcome.leads);
          else reject(outcome.cause);
        };
        const abort = (): void => finish({ cause: signal.reason });
        const timer = setTimeout(() => finish({ cause: tookTooLong() }), timeoutMs);
        signal.addEventListener('abort', abort, { once: true });
        waiting.set(id, { id, query, finish });
        runNext();
      }),
    settle: (id, outcome) => {
      if (running?.id !== id) return;
      const { finish } = running;
      running = null;
      finish(outcome);
      runNext();
    },
    refuseAll: (error) => {
      const all = [...(running === null ? [] : [running]), ...waiting.values()];
      running = null;
      for (const search of all) search.finish({ cause: error });
    },
  };
};

const tookTooLong = (): AppError =>
  new AppError('upstream_error', 'The search took too long. Try again, or use rarer words.', {
    retryAfterSeconds: 1,
  });
