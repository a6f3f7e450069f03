export interface DeadlineOptions {
  /** Undefined: no limit of time. */
  totalMs?: number | undefined;
  /** Abort the deadline with their reason. */
  signals: readonly AbortSignal[];
  /** Makes the reason of the abort when the time is over. By default an Error named `TimeoutError`. */
  toError?: (totalMs: number) => Error;
}

/** A limit of time for one piece of work, together with the callers' own wish to end it. */
export interface Deadline {
  /** Aborts when the time is over, when a caller aborts, or by `abort`. */
  readonly signal: AbortSignal;
  /** Rejects with the signal's reason when it aborts. Nobody has to listen. */
  readonly expired: Promise<never>;
  abort(reason: unknown): void;
  /** Stops the clock and leaves the callers' signals. */
  end(): void;
}

/**
 * Starts a deadline. It costs less than AbortSignal.any with AbortSignal.timeout, and nothing of it stays after `end`. What
 * arrived while the event loop was busy still counts: it is read in the turn between the timer and the abort.
 */
export const startDeadline = ({ totalMs, signals, toError = toTimeoutError }: DeadlineOptions): Deadline => {
  const controller = new AbortController();
  const expired = Promise.withResolvers<never>();
  expired.promise.catch(() => undefined);
  let verdict: NodeJS.Immediate | undefined;
  const expire = (ms: number): void => {
    verdict = setImmediate(() => abort(toError(ms)));
  };
  const timer = totalMs === undefined ? undefined : setTimeout(expire, totalMs, totalMs);
  const leaves = signals.map((signal) => {
    const onAbort = (): void => abort(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    return () => signal.removeEventListener('abort', onAbort);
  });
  const end = (): void => {
    clearTimeout(timer);
    clearImmediate(verdict);
    for (const leave of leaves) leave();
  };
  const abort = (reason: unknown): void => {
    end();
    controller.abort(reason);
    expired.reject(reason);
  };
  const aborted = signals.find((signal) => signal.aborted);
  if (aborted !== undefined) abort(aborted.reason);
  return { signal: controller.signal, expired: expired.promise, abort, end };
};

const toTimeoutError = (totalMs: number): Error =>
  Object.assign(new Error(`no answer within ${Math.round(totalMs)} ms`), { name: 'TimeoutError' });
