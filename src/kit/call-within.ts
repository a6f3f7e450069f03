import { startDeadline } from './deadline.ts';

export interface CallWithinOptions<T> {
  /** Its signal aborts when the time is over or the caller aborts. */
  call: (signal: AbortSignal) => Promise<T>;
  /** By default no limit of time. */
  timeoutMs?: number;
  signal?: AbortSignal;
}

/**
 * Returns the outcome of `call`. Rejects when its time is over (`TimeoutError`) or `signal` aborts (with its reason), even
 * if the call itself goes on.
 */
export const callWithin = async <T>({ call, timeoutMs, signal }: CallWithinOptions<T>): Promise<T> => {
  signal?.throwIfAborted();
  const deadline = startDeadline({ totalMs: timeoutMs, signals: signal === undefined ? [] : [signal] });
  try {
    return await Promise.race([call(deadline.signal), deadline.expired]);
  } finally {
    deadline.end();
  }
};
