/** Where a cache keeps its entries: text by key. The members are those that keyv asks of a store. */
export interface CacheStore {
  get(key: string): Promise<string | undefined>;
  set(key: string, text: string, ttlMs?: number): Promise<void>;
  delete(key: string): Promise<boolean>;
  clear(): Promise<void>;
}
