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
