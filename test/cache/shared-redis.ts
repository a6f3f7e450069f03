import { randomUUID } from 'node:crypto';
import { createClient } from '@keyv/redis';

/** The machine's Redis (REDIS_URL, or the usual port), seen through a client of the test's own. */
export interface SharedRedis {
  readonly url: string;
  /** Unlike that of any other test, for namespaces and prefixes. */
  readonly prefix: string;
  keys(): Promise<string[]>;
  get(key: string): Promise<string | null>;
  set(key: string, text: string): Promise<void>;
  msToLive(key: string): Promise<number>;
  /** Removes every key that holds `prefix` and hangs up. */
  close(): Promise<void>;
}

/** Null, with a line that says so, where it cannot be reached; in CI that is a failure. */
export const openSharedRedis = async (): Promise<SharedRedis | null> => {
  const url = process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379';
  const client = createClient({ url, socket: { reconnectStrategy: false, connectTimeout: 5_000 } });
  client.on('error', () => undefined);
  try {
    await client.connect();
  } catch (error) {
    if (process.env['CI'] !== undefined) throw error;
    console.warn('skipped: Redis cannot be reached');
    return null;
  }
  const prefix = `test-${randomUUID()}`;
  const keys = async (): Promise<string[]> => {
    const found: string[] = [];
    for await (const page of client.scanIterator({ MATCH: `*${prefix}*`, COUNT: 1_000 })) found.push(...page);
    return found;
  };
  return {
    url,
    prefix,
    keys,
    get: (key) => client.get(key),
    async set(key, text) {
      await client.set(key, text);
    },
    msToLive: (key) => client.pTTL(key),
    async close() {
      const left = await keys();
      if (left.length > 0) await client.del(left);
      client.destroy();
    },
  };
};
