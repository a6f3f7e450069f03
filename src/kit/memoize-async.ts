/** Calls `make` at the first call and returns its result to all. After a failure the next call tries again. */
export const memoizeAsync = <T>(make: () => Promise<T>): (() => Promise<T>) => {
  let made: Promise<T> | null = null;
  return async () => {
    made ??= make();
    try {
      return await made;
    } catch (error) {
      made = null;
      throw error;
    }
  };
};
