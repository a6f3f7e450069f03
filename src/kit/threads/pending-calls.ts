import type { ThreadAnswer } from './messages.ts';
import { ThreadError } from './thread-error.ts';

export interface PendingCallsOptions {
  /** Names the thread in errors. */
  thread: string;
  /** The calls that may wait at once. */
  maxCalls: number;
  /** A call without an answer after this long is rejected with ThreadError `timeout`; looked at once a second. */
  timeoutMs: number;
  /** Called after such a rejection. */
  onTimeout?: ((error: ThreadError) => void) | undefined;
}

const overdueCheckMs = 1_000;

/** The calls that a thread has not answered yet, in the order they were made. */
export const createPendingCalls = <Output>({
  thread,
  maxCalls,
  timeoutMs,
  onTimeout,
}: PendingCallsOptions) => {
  const calls = new Map<number, PromiseWithResolvers<Output> & { since: number }>();
  let lastId = 0;

  const rejectOne = (id: number, error: unknown): void => {
    const call = calls.get(id);
    calls.delete(id);
    call?.reject(error);
  };
  const rejectOverdue = (): void => {
    const limit = performance.now() - timeoutMs;
    for (const [id, { since }] of calls) {
      if (since > limit) break;
      const error = new ThreadError('timeout', `${thread} gave no answer in ${timeoutMs} ms`);
      rejectOne(id, error);
      onTimeout?.(error);
    }
  };
  const timer = setInterval(rejectOverdue, Math.min(overdueCheckMs, timeoutMs)).unref();

  return {
    /** Throws ThreadError `full` when too many calls wait. */
    add: (): { id: number; answer: Promise<Output> } => {
      if (calls.size >= maxCalls)
        throw new ThreadError('full', `${calls.size} calls wait for ${thread}; this one was not made`);
      lastId += 1;
      const call = { ...Promise.withResolvers<Output>(), since: performance.now() };
      calls.set(lastId, call);
      return { id: lastId, answer: call.promise };
    },
    settle: (answer: ThreadAnswer<Output>): void => {
      const call = calls.get(answer.id);
      calls.delete(answer.id);
      if ('failure' in answer) call?.reject(new ThreadError('failed', answer.failure));
      else call?.resolve(answer.output);
    },
    /** Rejects one call, or all. */
    reject: (error: unknown, id?: number): void => {
      for (const each of id === undefined ? calls.keys() : [id]) rejectOne(each, error);
    },
    stop: (): void => clearInterval(timer),
  };
};
