import { afterAll, afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { createRedisConnection, type RedisConnection } from '../../src/limits/redis-connection.ts';
import { AppError } from '../../src/kit/errors.ts';
import { createAddressLimiter, type AddressLimiter } from '../../src/limits/address-limiter.ts';
import { silentLog } from '../../src/kit/log.ts';
import { createBlackHole } from './black-hole.ts';
import { createRecordedLog } from './recorded-log.ts';
import { createRedisServer } from './redis-server.ts';
import { openSharedRedis } from './shared-redis.ts';
import { hasService } from '../outside-services.ts';

const shared = await openSharedRedis();
const patientMs = 10_000;
const address = '203.0.113.7';
const unit = { one: 'search', many: 'searches' };

const isAllowed = async (limiter: AddressLimiter, clientAddress = address): Promise<boolean> => {
  try {
    await limiter.consume(clientAddress);
    return true;
  } catch (error) {
    if (error instanceof AppError && error.code === 'rate_limit_exceeded') return false;
    throw error;
  }
};
/** How many of `count` searches sent at once are allowed. */
const countAllowed = async (limiter: AddressLimiter, count: number): Promise<number> => {
  const outcomes = await Promise.all(Array.from({ length: count }, () => isAllowed(limiter)));
  return outcomes.filter(Boolean).length;
};
const refusalOf = async (limiter: AddressLimiter): Promise<AppError> => {
  try {
    await limiter.consume(address);
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error('The search was allowed');
};
const inMemory = (ratePerMinute: number): AddressLimiter =>
  createAddressLimiter({ unit, ratePerMinute, redis: null, log: silentLog });

const connections: RedisConnection[] = [];
const connect = (url: string): RedisConnection => {
  const connection = createRedisConnection({ url, log: silentLog });
  connections.push(connection);
  return connection;
};
afterEach(async () => {
  for (const connection of connections.splice(0)) await connection.close();
});

describe('the search limit in one process', () => {
  it('allows exactly the limit of many searches at once', async () => {
    expect(await countAllowed(inMemory(60), 1_000)).toBe(60);
  });

  it('refuses with 429, says when to try again, and shows the limit', async () => {
    const limiter = inMemory(1);
    await limiter.consume(address);
    const { status, code, retryAfterSeconds, message } = await refusalOf(limiter);
    expect([status, code]).toEqual([429, 'rate_limit_exceeded']);
    expect(retryAfterSeconds).toBeGreaterThanOrEqual(1);
    expect(retryAfterSeconds).toBeLessThanOrEqual(60);
    expect(message).toContain('at most 1 a minute');
  });

  it('counts addresses apart, a /64 together, and a mapped address as IPv4', async () => {
    const limiter = inMemory(1);
    const outcomes = [];
    for (const each of [
      address,
      '203.0.113.8',
      `::ffff:${address}`,
      '2001:db8::1',
      '2001:db8::2',
      '2001:db8:0:1::1',
    ])
      outcomes.push(await isAllowed(limiter, each));
    expect(outcomes).toEqual([true, true, false, true, false, true]);
  });

  it('counts all unreadable addresses together, and logs that once', async () => {
    const { log, lines } = createRecordedLog();
    const limiter = createAddressLimiter({ unit, ratePerMinute: 2, redis: null, log });
    const outcomes = [];
    for (const each of ['', 'unknown', 'x'.repeat(5_000)]) outcomes.push(await isAllowed(limiter, each));
    expect(outcomes).toEqual([true, true, false]);
    expect(lines).toHaveLength(1);
  });

  it('holds under more addresses than are counted apart', async () => {
    const limiter = createAddressLimiter({
      unit,
      ratePerMinute: 3,
      redis: null,
      log: silentLog,
      maxBuckets: 10,
    });
    for (let index = 0; index < 10; index += 1) await limiter.consume(`198.51.100.${index}`);
    expect(await countAllowed(limiter, 100)).toBe(3);
  });
});

describe.skipIf(shared === null)('the search limit of several replicas on one Redis', () => {
  const server = shared!;
  afterAll(() => server.close());
  const replica = (ratePerMinute: number, name: string): AddressLimiter =>
    createAddressLimiter({
      unit,
      ratePerMinute,
      redis: connect(server.url),
      log: silentLog,
      timeoutMs: patientMs,
      keyPrefix: `${server.prefix}-${name}`,
    });

  it('allows exactly the limit of 1,000 searches at once', async () => {
    const replicas = [replica(60, 'exact'), replica(60, 'exact')];
    const allowed = await Promise.all(replicas.map((limiter) => countAllowed(limiter, 500)));
    expect(allowed.reduce((sum, count) => sum + count, 0)).toBe(60);
  });

  it('refuses everywhere what one replica has used up, until its minute is over', async () => {
    const [one, other] = [replica(5, 'everywhere'), replica(5, 'everywhere')];
    expect(await countAllowed(one, 5)).toBe(5);
    const { retryAfterSeconds } = await refusalOf(other);
    expect(retryAfterSeconds).toBeGreaterThanOrEqual(1);
    expect(retryAfterSeconds).toBeLessThanOrEqual(60);
    expect(await isAllowed(other, '203.0.113.8')).toBe(true);
  });

  it('leaves keys that end within the minute', async () => {
    await replica(5, 'life').consume(address);
    const keys = (await server.keys()).filter((key) => key.includes('-life'));
    expect(keys).toEqual([`${server.prefix}-life:${address}`]);
    const msToLive = await server.msToLive(keys[0]!);
    expect(msToLive).toBeGreaterThan(0);
    expect(msToLive).toBeLessThanOrEqual(60_000);
  });
});

describe.skipIf(!hasService('redis-server'))('the search limit when Redis fails', () => {
  it('goes on from what this process has counted when Redis dies', async () => {
    const server = await createRedisServer();
    onTestFinished(() => server.remove());
    await server.start();
    const limiter = createAddressLimiter({
      unit,
      ratePerMinute: 60,
      redis: connect(server.url),
      log: silentLog,
      timeoutMs: patientMs,
    });
    expect(await countAllowed(limiter, 40)).toBe(40);
    await server.kill();
    expect(await countAllowed(limiter, 1_000)).toBe(20);
  });

  it('holds per process without Redis, and is shared again when Redis is back', async () => {
    const server = await createRedisServer();
    onTestFinished(() => server.remove());
    const open = (redis: RedisConnection): AddressLimiter =>
      createAddressLimiter({ unit, ratePerMinute: 10, redis, log: silentLog, timeoutMs: patientMs });
    const redis = connect(server.url);
    const limiter = open(redis);
    expect(await countAllowed(limiter, 50)).toBe(10);

    await server.start();
    const isConnected = (): Promise<unknown> => redis.attempt(async () => 'connected', patientMs);
    await expect.poll(isConnected, { timeout: 60_000 }).toBe('connected');
    const other = open(connect(server.url));
    const newcomer = '198.51.100.1';
    for (let search = 0; search < 10; search += 1) await other.consume(newcomer);
    expect(await isAllowed(limiter, newcomer)).toBe(false);
  });

  it('holds, and every search is decided, while Redis hangs', async () => {
    const server = await createRedisServer();
    onTestFinished(() => server.remove());
    await server.start();
    const limiter = createAddressLimiter({
      unit,
      ratePerMinute: 60,
      redis: connect(server.url),
      log: silentLog,
    });
    await limiter.consume(address);
    server.freeze();
    expect(await countAllowed(limiter, 1_000)).toBe(59);
    for (let search = 0; search < 500; search += 1) expect(await isAllowed(limiter)).toBe(false);
  });

  it('holds when what listens in the place of Redis never answers', async () => {
    const hole = await createBlackHole(null);
    onTestFinished(() => hole.close());
    const limiter = createAddressLimiter({
      unit,
      ratePerMinute: 60,
      redis: connect(hole.url),
      log: silentLog,
    });
    expect(await countAllowed(limiter, 1_000)).toBe(60);
  });
});
