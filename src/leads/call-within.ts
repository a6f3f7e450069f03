export interface CallWithinOptions<T> {
  call: (signal: AbortSignal) => Promise<T>;
  timeoutMs: number;
  signal: AbortSignal;
}

/** A call that had not ended when its time was over. */
class LateError extends Error {
  override readonly name = 'LateError';
}

/**
 * The outcome of `call`, or a rejection when its time is over (LateError) or `signal` aborts (with its reason),
 * whichever is first. The call is told to end in both cases; what becomes of it then is nobody's concern.
 */
export const callWithin = async <T>({ call, timeoutMs, signal }: CallWithinOptions<T>): Promise<T> => {
  signal.throwIfAborted();
  const ending = new AbortController();
  const ended = Promise.withResolvers<never>();
  const end = (reason: unknown): void => {
    ended.reject(reason);
    ending.abort(reason);
  };
  const onAbort = (): void => end(signal.reason);
  const onLate = (): void => end(new LateError(`no answer within ${Math.round(timeoutMs)} ms`));
  const timer = setTimeout(onLate, timeoutMs);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([call(ending.signal), ended.promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
  }
};
