import type { CacheStore } from './cache-store.ts';

/** Entries in memory, at most `maxEntries` of them: the one not used for longest makes room. Reading is a use. */
export const createLruStore = (maxEntries: number): CacheStore => {
  /** From the least to the most recently used. */
  const entries = new Map<string, string>();
  const use = (key: string, text: string): void => {
    entries.delete(key);
    entries.set(key, text);
  };
  return {
    async get(key) {
      const text = entries.get(key);
      if (text !== undefined) use(key, text);
      return text;
    },
    async set(key, text) {
      use(key, text);
      for (const oldest of entries.keys()) {
        if (entries.size <= maxEntries) return;
        entries.delete(oldest);
      }
    },
    async delete(key) {
      return entries.delete(key);
    },
  };
};
