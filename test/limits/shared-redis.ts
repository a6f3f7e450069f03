import { randomUUID } from 'node:crypto';
import { createClient } from '@keyv/redis';
import { hasService, redisUrl } from '../outside-services.ts';

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

/** Null where no Redis answers. */
export const openSharedRedis = async (): Promise<SharedRedis | null> => {
  if (!hasService('Redis')) return null;
  const client = createClient({ url: redisUrl, socket: { reconnectStrategy: false, connectTimeout: 5_000 } });
  client.on('error', () => undefined);
  await client.connect();
  const prefix = `test-${randomUUID()}`;
  const keys = async (): Promise<string[]> => {
    const found: string[] = [];
    for await (const page of client.scanIterator({ MATCH: `*${prefix}*`, COUNT: 1_000 })) found.push(...page);
    return found;
  };
  return {
    url: redisUrl,
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
