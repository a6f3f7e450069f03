/** Calls `make` at the first call and returns its result to all. After a failure the next call tries again. */
export const memoizeAsync = <T>(make: () => Promise<T>): (() => Promise<T>) => {
  let made: Promise<T> | null = null;
  return () =>
    (made ??= make().catch((error: unknown) => {
      made = null;
      throw error;
    }));
};

/** Callers that come while `work` runs get the result of that run. */
export const shareRunning = <T>(work: () => Promise<T>): (() => Promise<T>) => {
  let running: Promise<T> | null = null;
  return () =>
    (running ??= work().finally(() => {
      running = null;
    }));
};
