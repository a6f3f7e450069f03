/** `make`, which keeps what it made of the last `mostKept` keys; the one not asked for longest goes. What throws is not kept. */
export const remember = <T>(mostKept: number, make: (key: string) => T): ((key: string) => T) => {
  /** From the least to the most recently used. */
  const kept = new Map<string, { value: T }>();
  return (key) => {
    const entry = kept.get(key) ?? { value: make(key) };
    kept.delete(key);
    kept.set(key, entry);
    for (const oldest of kept.keys()) {
      if (kept.size <= mostKept) break;
      kept.delete(oldest);
    }
    return entry.value;
  };
};
