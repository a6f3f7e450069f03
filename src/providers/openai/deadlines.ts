import type { ProviderTimeouts } from '../remote-settings.ts';
import { ProviderError } from '../provider-error.ts';

/** The clocks of one upstream call, and the caller's own wish to end it. */
export interface Deadlines {
  /** Aborts when a time-out passes (with a ProviderError) or the caller aborts (with the caller's reason). */
  signal: AbortSignal;
  /** Tells that a byte of the answer has come. */
  touch(): void;
  /** Rejects when `signal` aborts. */
  expired: Promise<never>;
  /** Stops the clocks. */
  end(): void;
}

/**
 * First byte, idle and total time-outs. AbortSignal.any and the client's own timers are left aside: the first
 * is slow, the second end with the headers. All three are ambiguous, as the request was sent.
 */
export const startDeadlines = (timeouts: ProviderTimeouts, caller: AbortSignal | null): Deadlines => {
  const controller = new AbortController();
  const expired = Promise.withResolvers<never>();
  // Whoever waits sees the rejection; when nobody waits any more, it means nothing.
  expired.promise.catch(() => undefined);
  const abort = (reason: unknown): void => {
    controller.abort(reason);
    expired.reject(reason);
  };
  const startTimer = (what: string, ms: number): NodeJS.Timeout =>
    setTimeout(() => {
      abort(new ProviderError(`${what} within ${ms} ms`, { failure: 'ambiguous', code: 'upstream_error' }));
    }, ms);

  const onCallerAbort = (): void => abort(caller?.reason);
  if (caller?.aborted === true) onCallerAbort();
  caller?.addEventListener('abort', onCallerAbort, { once: true });
  const total = startTimer('the upstream did not end its answer', timeouts.totalMs);
  let progress = startTimer('the upstream sent no byte of an answer', timeouts.firstByteMs);
  let hasBegun = false;

  return {
    signal: controller.signal,
    expired: expired.promise,
    touch: () => {
      if (hasBegun) {
        progress.refresh();
        return;
      }
      hasBegun = true;
      clearTimeout(progress);
      progress = startTimer('the upstream sent nothing more', timeouts.idleMs);
    },
    end: () => {
      clearTimeout(total);
      clearTimeout(progress);
      caller?.removeEventListener('abort', onCallerAbort);
    },
  };
};
