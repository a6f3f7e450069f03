import type { ThreadAnswer } from './messages.ts';
import { ThreadError } from './thread-error.ts';

/** The calls that a thread has not answered yet, in the order they were made. */
export interface PendingCalls<Output> {
  /** Throws ThreadError `full` when too many calls wait. */
  add(): { id: number; answer: Promise<Output> };
  settle(answer: ThreadAnswer<Output>): void;
  /** Rejects one call, or all. */
  reject(error: unknown, id?: number): void;
  stop(): void;
}

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

interface Call<Output> {
  resolve(output: Output): void;
  reject(error: unknown): void;
  since: number;
}

const overdueCheckMs = 1_000;

export const createPendingCalls = <Output>({
  thread,
  maxCalls,
  timeoutMs,
  onTimeout,
}: PendingCallsOptions): PendingCalls<Output> => {
  const calls = new Map<number, Call<Output>>();
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
    add: () => {
      if (calls.size >= maxCalls)
        throw new ThreadError('full', `${calls.size} calls wait for ${thread}; this one was not made`);
      lastId += 1;
      const id = lastId;
      const answer = new Promise<Output>((resolve, reject) => {
        calls.set(id, { resolve, reject, since: performance.now() });
      });
      return { id, answer };
    },
    settle: (answer) => {
      if ('failure' in answer) {
        rejectOne(answer.id, new ThreadError('failed', answer.failure));
        return;
      }
      const call = calls.get(answer.id);
      calls.delete(answer.id);
      call?.resolve(answer.output);
    },
    reject: (error, id) => {
      for (const each of id === undefined ? calls.keys() : [id]) rejectOne(each, error);
    },
    stop: () => clearInterval(timer),
  };
};
