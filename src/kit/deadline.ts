export interface DeadlineOptions {
  /** Undefined: no limit of time. */
  totalMs?: number | undefined;
  /** Abort the deadline with their reason. */
  signals: readonly AbortSignal[];
  /** Makes the reason of the abort when the time is over. By default an Error named `TimeoutError`. */
  toError?: (totalMs: number) => Error;
}

export type Deadline = ReturnType<typeof startDeadline>;

/**
 * Starts a limit of time for one piece of work, together with the callers' own wish to end it. It costs less than AbortSignal.any with AbortSignal.timeout, and nothing of it stays after `end`. What
 * arrived while the event loop was busy still counts: it is read in the turn between the timer and the abort.
 */
export const startDeadline = ({ totalMs, signals, toError = toTimeoutError }: DeadlineOptions) => {
  const controller = new AbortController();
  const expired = Promise.withResolvers<never>();
  expired.promise.catch(() => undefined);
  let verdict: NodeJS.Immediate | undefined;
  const expire = (ms: number): void => {
    verdict = setImmediate(() => abort(toError(ms)));
  };
  const timer = totalMs === undefined ? undefined : setTimeout(expire, totalMs, totalMs);
  const onAbort = (): void => {
    for (const signal of signals) if (signal.aborted) return abort(signal.reason);
  };
  for (const signal of signals) signal.addEventListener('abort', onAbort, { once: true });
  const end = (): void => {
    clearTimeout(timer);
    clearImmediate(verdict);
    for (const signal of signals) signal.removeEventListener('abort', onAbort);
  };
  const abort = (reason: unknown): void => {
    end();
    controller.abort(reason);
    expired.reject(reason);
  };
  onAbort();
  return {
    /** Aborts when the time is over, when a caller aborts, or by `abort`. */
    signal: controller.signal,
    /** Rejects with the signal's reason when it aborts. Nobody has to listen. */
    expired: expired.promise,
    abort,
    /** Stops the clock and leaves the callers' signals. */
    end,
  };
};

const toTimeoutError = (totalMs: number): Error =>
  Object.assign(new Error(`no answer within ${Math.round(totalMs)} ms`), { name: 'TimeoutError' });

export interface CallWithinOptions<T> {
  /** Its signal aborts when the time is over or the caller aborts. */
  call: (signal: AbortSignal) => Promise<T>;
  /** By default no limit of time. */
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** Calls, and rejects when the time is over (`TimeoutError`) or `signal` aborts (its reason), even if the call goes on. */
export const callWithin = async <T>({ call, timeoutMs, signal }: CallWithinOptions<T>): Promise<T> => {
  signal?.throwIfAborted();
  const deadline = startDeadline({ totalMs: timeoutMs, signals: signal === undefined ? [] : [signal] });
  try {
    return await Promise.race([call(deadline.signal), deadline.expired]);
  } finally {
    deadline.end();
  }
};

/** Waits for `outcome`. Rejects with the signal's reason when that comes first; the work itself goes on. */
export const unlessAborted = async <T>(outcome: Promise<T>, signal: AbortSignal): Promise<T> => {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([outcome, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
};
