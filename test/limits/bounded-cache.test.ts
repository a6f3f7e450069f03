import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createCache, type BoundedCache, type BoundedCacheOptions } from '../../src/limits/bounded-cache.ts';
import { createRedisConnection, type RedisConnection } from '../../src/limits/redis-connection.ts';
import { silentLog } from '../../src/kit/log.ts';
import { createRecordedLog } from './recorded-log.ts';
import { createRedisServer } from './redis-server.ts';
import { openSharedRedis } from './shared-redis.ts';
import { hasService } from '../outside-services.ts';

const shared = await openSharedRedis();
const value = { name: 'Zoë :base64: ":x"', tags: [':a', '', null], nested: { count: 0.5, flag: false } };

const behavesAsCache = (open: (options?: Partial<BoundedCacheOptions>) => BoundedCache): void => {
  it('gives back what was set', async () => {
    const cache = open();
    await cache.set('round-trip', value);
    expect(await cache.get('round-trip')).toEqual(value);
  });

  it('tells an empty list and null from nothing kept', async () => {
    const cache = open();
    await cache.set('empty', []);
    expect(await cache.get('empty')).toEqual([]);
    expect(await cache.get('never set')).toBeUndefined();
  });

  it('gives every reader a copy', async () => {
    const cache = open();
    await cache.set('copied', { list: [1] });
    Object.assign((await cache.get('copied')) ?? {}, { list: 'changed' });
    expect(await cache.get('copied')).toEqual({ list: [1] });
  });

  it('keeps namespaces apart', async () => {
    const [one, other] = [open({ namespace: `${namespace}-one` }), open({ namespace: `${namespace}-other` })];
    await one.set('key', 1);
    expect(await other.get('key')).toBeUndefined();
  });

  it('forgets an entry after its life', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const cache = open({ ttlMs: 60_000 });
    await cache.set('short', 1);
    vi.setSystemTime(Date.now() + 59_000);
    expect(await cache.get('short')).toBe(1);
    vi.setSystemTime(Date.now() + 2_000);
    expect(await cache.get('short')).toBeUndefined();
  });

  it('does not throw at a value that is no JSON, logs it once, and goes on', async () => {
    const { log, lines } = createRecordedLog();
    const cache = open({ log });
    const circular: Record<string, unknown> = {};
    circular['self'] = circular;
    for (let call = 0; call < 20; call += 1) await cache.set('circular', circular);
    expect(lines).toHaveLength(1);
    await cache.set('after', value);
    expect(await cache.get('after')).toEqual(value);
  });
};

const namespace = shared?.prefix ?? 'memory';
const options = { namespace, ttlMs: 60_000, maxEntries: 100, redis: null, log: silentLog, timeoutMs: 10_000 };

afterEach(() => {
  vi.useRealTimers();
});

describe('a cache in memory', () => {
  behavesAsCache((changes) => createCache({ ...options, ...changes }));

  it('holds at most so many entries, and drops the one not used for longest', async () => {
    const cache = createCache({ ...options, maxEntries: 3 });
    for (const key of ['a', 'b', 'c']) await cache.set(key, key);
    await cache.get('a');
    await cache.set('d', 'd');
    const left = await Promise.all(['a', 'b', 'c', 'd'].map((key) => cache.get(key)));
    expect(left).toEqual(['a', undefined, 'c', 'd']);
  });
});

describe.skipIf(shared === null)('a cache in Redis', () => {
  let redis: RedisConnection;
  const server = shared!;
  beforeAll(() => {
    redis = createRedisConnection({ url: server.url, log: silentLog });
  });
  afterAll(async () => {
    await redis.close();
    await server.close();
  });

  behavesAsCache((changes) => createCache({ ...options, redis, ...changes }));

  it('is shared by all who are connected to it', async () => {
    const replica = createRedisConnection({ url: server.url, log: silentLog });
    await createCache({ ...options, redis }).set('from one', value);
    expect(await createCache({ ...options, redis: replica }).get('from one')).toEqual(value);
    await replica.close();
  });

  it('lets Redis end what nobody reads', async () => {
    await createCache({ ...options, namespace: `${namespace}-life`, redis }).set('key', 1);
    const keys = (await server.keys()).filter((key) => key.includes('-life'));
    expect(keys).toEqual([`causeway:${namespace}-life:key`]);
    const msToLive = await server.msToLive(keys[0]!);
    expect(msToLive).toBeGreaterThan(0);
    expect(msToLive).toBeLessThanOrEqual(60_000);
  });

  it('reads what is no entry as nothing, and replaces it', async () => {
    const { log, lines } = createRecordedLog();
    const cache = createCache({ ...options, redis, log });
    await server.set(`causeway:${namespace}:foreign`, 'not JSON');
    expect(await cache.get('foreign')).toBeUndefined();
    expect(lines).toHaveLength(1);
    await cache.set('foreign', 1);
    expect(await cache.get('foreign')).toBe(1);
  });
});

describe.skipIf(!hasService('redis-server'))('a cache whose Redis dies', () => {
  it('holds nothing, throws nothing, and is used again when Redis is back', async () => {
    const server = await createRedisServer();
    onTestFinished(() => server.remove());
    await server.start();
    const redis = createRedisConnection({ url: server.url, log: silentLog });
    onTestFinished(() => redis.close());
    const cache = createCache({ ...options, redis });
    await cache.set('key', 1);
    expect(await cache.get('key')).toBe(1);

    await server.kill();
    for (let call = 0; call < 100; call += 1) {
      await cache.set('key', 2);
      expect(await cache.get('key')).toBeUndefined();
    }

    await server.start();
    const readsBack = async (): Promise<unknown> => {
      await cache.set('key', 3);
      return cache.get('key');
    };
    await expect.poll(readsBack, { timeout: 60_000 }).toBe(3);
  });

  it('never waits for a Redis that hangs', async () => {
    const server = await createRedisServer();
    onTestFinished(() => server.remove());
    await server.start();
    const redis = createRedisConnection({ url: server.url, log: silentLog });
    onTestFinished(() => redis.close());
    const cache = createCache({ ...options, redis, timeoutMs: 20 });
    server.freeze();
    const calls = Array.from({ length: 200 }, (_, index) => [
      cache.set(`${index}`, index),
      cache.get(`${index}`),
    ]);
    expect(await Promise.all(calls.flat())).toEqual(Array.from({ length: 400 }, () => undefined));
  });
});
