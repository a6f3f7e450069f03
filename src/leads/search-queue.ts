import { AppError } from '../kit/errors.ts';
import type { Lead, LeadQuery } from './lead-source.ts';

export interface SearchQueueOptions {
  /** Searches that are run at once. */
  maxRunning: number;
  /** Searches that may wait and run together; more are refused. */
  maxSearches: number;
  /** The longest time to wait and run together. */
  timeoutMs: number;
  /** Starts one search. Its outcome comes back through `settle`. */
  run: (id: number, query: LeadQuery) => void;
  /** Called when nobody waits any more for a running search. `settle` must still be called for it. */
  abandon: (id: number) => void;
}

type SearchOutcome = { leads: Lead[] } | { cause: unknown };

/** A queue of searches for one thread, which runs some of them at once. */
export interface SearchQueue {
  add(query: LeadQuery, signal: AbortSignal): Promise<Lead[]>;
  /** Ends a running search with its outcome and starts the next one. */
  settle(id: number, outcome: SearchOutcome): void;
  /** Refuses all waiting and running searches with `error`. */
  refuseAll(error: AppError): void;
}

interface Search {
  query: LeadQuery;
  finish: (outcome: SearchOutcome) => void;
}

/**
 * A search that times out or is aborted is answered at once. A waiting one leaves the queue. A running one counts as
 * running until its outcome comes, which is then dropped.
 */
export const createSearchQueue = ({
  maxRunning,
  maxSearches,
  timeoutMs,
  run,
  abandon,
}: SearchQueueOptions): SearchQueue => {
  const waiting = new Map<number, Search>();
  const running = new Map<number, Search>();
  let lastId = 0;

  const runNext = (): void => {
    if (running.size >= maxRunning) return;
    const [next] = waiting;
    if (next === undefined) return;
    const [id, search] = next;
    waiting.delete(id);
    running.set(id, search);
    run(id, search.query);
  };

  return {
    add: (query, signal) =>
      new Promise((resolve, reject) => {
        signal.throwIfAborted();
        if (waiting.size + running.size >= maxSearches)
          throw new AppError('upstream_error', 'Too many searches are waiting. Try again in a moment.', {
            retryAfterSeconds: 1,
          });
        const id = (lastId += 1);
        const finish = (outcome: SearchOutcome): void => {
          clearTimeout(timer);
          signal.removeEventListener('abort', onAbort);
          if ('leads' in outcome) resolve(outcome.leads);
          else reject(outcome.cause);
        };
        const giveUp = (cause: unknown): void => {
          finish({ cause });
          if (!waiting.delete(id)) abandon(id);
        };
        const onAbort = (): void => giveUp(signal.reason);
        const timer = setTimeout(() => giveUp(tookTooLong()), timeoutMs);
        signal.addEventListener('abort', onAbort, { once: true });
        waiting.set(id, { query, finish });
        runNext();
      }),
    settle: (id, outcome) => {
      const search = running.get(id);
      if (search === undefined) return;
      running.delete(id);
      search.finish(outcome);
      runNext();
    },
    refuseAll: (error) => {
      const all = [...running.values(), ...waiting.values()];
      running.clear();
      waiting.clear();
      for (const search of all) search.finish({ cause: error });
    },
  };
};

export const tookTooLong = (cause?: unknown): AppError =>
  new AppError('upstream_error', 'The search took too long. Try again, or use rarer words.', {
    retryAfterSeconds: 1,
    cause,
  });

export const searchFailed = (cause: Error): AppError =>
  new AppError('upstream_error', 'The search failed. Try again in a moment.', {
    retryAfterSeconds: 1,
    cause,
  });

/** The thread of the search has ended. */
export const searchInterrupted = (): AppError =>
  new AppError('upstream_error', 'The search was interrupted. Try again in a moment.', {
    retryAfterSeconds: 1,
  });
