import { Keyv } from 'keyv';
import { LRUCache } from 'lru-cache';
import { throttle } from '../kit/repeat.ts';
import type { Log } from '../kit/log.ts';
import type { CacheStore, RedisConnection } from './redis-connection.ts';

export interface BoundedCacheOptions {
  /** Separates the keys of this cache from those of others on the same Redis. */
  namespace: string;
  ttlMs: number;
  /** The most entries in memory. In Redis, their time to live and Redis's own settings bound them. */
  maxEntries: number;
  redis: RedisConnection | null;
  log: Log;
  timeoutMs?: number;
}

const defaultTimeoutMs = 50;
const logIntervalMs = 60_000;

export type BoundedCache = ReturnType<typeof createCache>;

/**
 * A cache in Redis, or in memory without it, for values that may be lost at any time: never a balance, a hold, a lease or a
 * counter. Its calls never throw, and end within the time-out when Redis does not answer.
 */
export const createCache = (options: BoundedCacheOptions) => {
  const { namespace, ttlMs, maxEntries, redis, log, timeoutMs = defaultTimeoutMs } = options;
  const entries = new Keyv<unknown>({
    store: withClear(redis === null ? memoryStore(maxEntries) : redis.openStore({ timeoutMs })),
    namespace: `causeway:${namespace}`,
    ttl: ttlMs,
    serialize: JSON.stringify,
    deserialize: JSON.parse,
    throwOnErrors: true,
    emitErrors: false,
  });
  const reportFault = throttle<unknown>(logIntervalMs, (error, leftOut) => {
    log.warn({ err: error, cache: namespace, leftOut }, 'an entry of the cache could not be read or kept');
  });
  return {
    /**
     * Returns a copy of the value of `key`, or undefined when there is none or the cache fails. Another version of this
     * program may have written it to Redis, so the caller checks its shape.
     */
    async get(key: string): Promise<unknown> {
      try {
        return await entries.get(key);
      } catch (error) {
        reportFault(error);
        return undefined;
      }
    },
    /** Keeps the JSON of `value`. A value that cannot be kept is lost, and that is logged. */
    async set(key: string, value: unknown): Promise<void> {
      try {
        await entries.set(key, value);
      } catch (error) {
        reportFault(error);
      }
    },
  };
};

/** Keyv itself drops entries after their time to live. */
const memoryStore = (maxEntries: number): CacheStore => {
  const entries = new LRUCache<string, string>({ max: maxEntries });
  return {
    get: async (key) => entries.get(key),
    set: async (key, text) => void entries.set(key, text),
    delete: async (key) => entries.delete(key),
  };
};

/** Keyv takes no store without `clear`; that of a Redis store would reach keys that are not this cache's. */
const withClear = (store: CacheStore) => ({
  ...store,
  clear: () => Promise.reject(new Error('A cache is not cleared as a whole')),
});
