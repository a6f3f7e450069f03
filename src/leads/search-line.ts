import { AppError } from '../kit/errors.ts';
import { createFairShareLimiter } from '../kit/fair-share-limiter.ts';
import type { Thread } from '../kit/threads/connect-thread.ts';
import { ThreadError } from '../kit/threads/thread-error.ts';
import { unlessAborted } from '../kit/unless-aborted.ts';
import type { Lead, LeadQuery } from './lead-source.ts';

export interface SearchLineOptions {
  thread: Pick<Thread<LeadQuery, Lead[]>, 'call'>;
  /** The searches that may wait beside the one that runs; one more is refused. */
  maxWaiting: number;
  /** The limit of one search, waiting and running together. */
  timeoutMs: number;
}

export type SearchLine = (query: LeadQuery, signal: AbortSignal) => Promise<Lead[]>;

/**
 * A search that times out or is aborted is answered at once. If it waits, it leaves the line. If it runs, its slot stays taken
 * until the thread has answered it, and that answer is dropped. Rejects with AppError, or with the signal's reason.
 */
export const createSearchLine = ({ thread, maxWaiting, timeoutMs }: SearchLineOptions): SearchLine => {
  const limiter = createFairShareLimiter({
    total: 1,
    queue: { total: maxWaiting, refusal: () => tryAgain('Too many searches are waiting.') },
  });
  return async (query, signal) => {
    const over = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    try {
      const release = await limiter.acquire({}, { signal: over });
      return await unlessAborted(thread.call(query, over).finally(release), over);
    } catch (error) {
      signal.throwIfAborted();
      if (over.aborted) throw tookTooLong();
      if (error instanceof AppError) throw error;
      throw error instanceof ThreadError && error.reason === 'failed'
        ? tryAgain('The search failed.', error)
        : tryAgain('The search was interrupted.', error);
    }
  };
};

const tookTooLong = (cause?: unknown): AppError =>
  new AppError('upstream_error', 'The search took too long. Try again, or use rarer words.', {
    retryAfterSeconds: 1,
    cause,
  });

const tryAgain = (problem: string, cause?: unknown): AppError =>
  new AppError('upstream_error', `${problem} Try again in a moment.`, { retryAfterSeconds: 1, cause });
