/** Keeps the most recently used values. */
export interface ByteCache<Key, Value> {
  /** `read` creates a missing value. */
  get(key: Key, read: (key: Key) => Value): Value;
}

/** Creates a cache for values of `mostBytes` together, as counted by `bytesOf`. */
export const createByteCache = <Key, Value>(
  mostBytes: number,
  bytesOf: (value: Value) => number,
): ByteCache<Key, Value> => {
  const kept = new Map<Key, Value>();
  let bytes = 0;

  const keep = (key: Key, value: Value): void => {
    kept.set(key, value);
    bytes += bytesOf(value);
    for (const [oldest, other] of kept) {
      if (bytes <= mostBytes) break;
      kept.delete(oldest);
      bytes -= bytesOf(other);
    }
  };
  return {
    get: (key, read) => {
      const known = kept.get(key);
      if (known === undefined) {
        const value = read(key);
        keep(key, value);
        return value;
      }
      kept.delete(key);
      kept.set(key, known);
      return known;
    },
  };
};
