import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createRedisConnection, type RedisConnection } from '../../src/limits/redis-connection.ts';
import { silentLog } from '../../src/kit/log.ts';
import { createBlackHole } from './black-hole.ts';
import { createRecordedLog } from './recorded-log.ts';
import { createRedisServer, type RedisServer } from './redis-server.ts';
import { hasService } from '../outside-services.ts';

const patientMs = 10_000;
const briefMs = 20;
const untilUsedAgain = { timeout: 60_000, interval: 50 };

const readsBack = async (redis: RedisConnection): Promise<boolean> => {
  const store = redis.openStore({ timeoutMs: patientMs });
  await store.set('greeting', 'hello', 60_000);
  return (await store.get('greeting')) === 'hello';
};

describe.skipIf(!hasService('redis-server'))('a connection to Redis', () => {
  let server: RedisServer;
  const connections: RedisConnection[] = [];
  const connect = (url: string, log = silentLog): RedisConnection => {
    const connection = createRedisConnection({ url, log });
    connections.push(connection);
    return connection;
  };

  beforeEach(async () => {
    server = await createRedisServer();
  });
  afterEach(async () => {
    for (const connection of connections.splice(0)) await connection.close();
    await server.remove();
  });

  it('dials at the first call, which waits for it', async () => {
    await server.start();
    expect(await readsBack(connect(server.url))).toBe(true);
  });

  it('gives undefined without Redis, and uses Redis when it comes up later', async () => {
    const redis = connect(server.url);
    let runs = 0;
    const outcome = await redis.attempt(async () => (runs += 1), patientMs);
    expect(outcome).toBeUndefined();
    expect(runs).toBe(0);

    await server.start();
    await expect.poll(() => readsBack(redis), untilUsedAgain).toBe(true);
  });

  it('gives undefined after Redis was killed, and uses it again once it is back', async () => {
    await server.start();
    const redis = connect(server.url);
    expect(await readsBack(redis)).toBe(true);

    await server.kill();
    expect(await readsBack(redis)).toBe(false);

    await server.start();
    await expect.poll(() => readsBack(redis), untilUsedAgain).toBe(true);
  });

  it('leaves a Redis that hangs alone after a few calls, and uses it again once it answers', async () => {
    await server.start();
    const redis = connect(server.url);
    expect(await readsBack(redis)).toBe(true);

    server.freeze();
    let runs = 0;
    const neverAnswered = (): Promise<string> => {
      runs += 1;
      return new Promise(() => undefined);
    };
    for (let call = 0; call < 100; call += 1) {
      expect(await redis.attempt(neverAnswered, briefMs)).toBeUndefined();
    }
    expect(runs).toBeGreaterThan(0);
    expect(runs).toBeLessThan(50);

    server.thaw();
    await expect.poll(() => readsBack(redis), untilUsedAgain).toBe(true);
  });

  it('replaces a connection whose other end vanished without closing it', async () => {
    await server.start();
    const hole = await createBlackHole(server.port);
    onTestFinished(() => hole.close());
    const redis = connect(hole.url);
    expect(await readsBack(redis)).toBe(true);

    hole.swallowOpenConnections();
    const store = redis.openStore({ timeoutMs: briefMs });
    expect(await store.get('greeting')).toBeUndefined();
    await expect.poll(() => store.get('greeting'), untilUsedAgain).toBe('hello');
    await redis.close();
  });

  it('gives undefined when what listens never answers, and still closes', async () => {
    const hole = await createBlackHole(null);
    onTestFinished(() => hole.close());
    const redis = connect(hole.url);
    let runs = 0;
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, () => redis.attempt(async () => (runs += 1), briefMs)),
    );
    expect(outcomes).toEqual(Array.from({ length: 20 }, () => undefined));
    expect(runs).toBe(0);
    await redis.close();
  });

  it('gives undefined for a command that fails', async () => {
    await server.start();
    const redis = connect(server.url);
    expect(await redis.attempt(() => Promise.reject(new Error('no')), patientMs)).toBeUndefined();
    expect(await readsBack(redis)).toBe(true);
  });

  it('logs an outage once, without the password of its address', async () => {
    const { log, lines } = createRecordedLog();
    const redis = connect(server.url.replace('redis://', 'redis://:secret@'), log);
    for (let call = 0; call < 20; call += 1) await redis.attempt(async () => 1, patientMs);
    expect(lines).toHaveLength(1);
    expect(JSON.stringify(lines)).not.toContain('secret');
  });

  it('says when it is checked that nothing answers, what follows and what to do', async () => {
    const { log, lines } = createRecordedLog();
    await connect(server.url, log).check();
    expect(lines).toMatchObject([
      {
        level: 40,
        redis: new URL(server.url).host,
        msg: expect.stringMatching(/^Redis does not answer: .*per process.*correct REDIS_URL$/),
      },
    ]);
    const hole = await createBlackHole(null);
    onTestFinished(() => hole.close());
    await connect(hole.url, log).check();
    expect(lines).toHaveLength(2);
    await server.start();
    await connect(server.url, log).check();
    expect(lines).toHaveLength(2);
  });

  it('closes unused, twice, and answers nothing afterwards', async () => {
    await server.start();
    const redis = connect(server.url);
    await redis.close();
    await redis.close();
    expect(await readsBack(redis)).toBe(false);
  });

  it('closes while it dials, and leaves no connection behind', async () => {
    await server.start();
    const redis = connect(server.url);
    const read = readsBack(redis);
    await redis.close();
    expect(await read).toBe(false);

    const observer = connect(server.url);
    expect(await readsBack(observer)).toBe(true);
    expect([redis.client.isOpen, redis.client.isReady]).toEqual([false, false]);
    const clients = () => observer.attempt(() => observer.client.info('clients'), patientMs);
    await expect.poll(clients, untilUsedAgain).toContain('connected_clients:1\r\n');
  });
});
