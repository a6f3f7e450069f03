import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * The outcome of `work`, or a rejection once `timeoutMs` have passed. An answer that arrived while the event loop was
 * busy still counts: it is read in the turn between the timer and the verdict.
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
