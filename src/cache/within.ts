import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * Returns the outcome of `work`, or rejects after `timeoutMs`. An answer that arrived while the event loop was busy still
 * counts: it is read between the timer and the rejection.
 */
export const within = async <T>(timeoutMs: number, work: Promise<T>): Promise<T> => {
  const expiry = Promise.withResolvers<never>();
  const expire = async (): Promise<void> => {
    await nextTurn();
    expiry.reject(new Error(`No answer within ${timeoutMs} ms`));
  };
  const timer = setTimeout(() => void expire(), timeoutMs);
  try {
    return await Promise.race([work, expiry.promise]);
  } finally {
    clearTimeout(timer);
  }
};
