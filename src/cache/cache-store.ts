/** The store of a cache: text by key. */
export interface CacheStore {
  get(key: string): Promise<string | undefined>;
  set(key: string, text: string, ttlMs?: number): Promise<void>;
  delete(key: string): Promise<boolean>;
}
