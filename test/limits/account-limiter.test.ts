import { afterAll, afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { createRedisConnection, type RedisConnection } from '../../src/limits/redis-connection.ts';
import { AppError } from '../../src/kit/errors.ts';
import { createAccountLimiter, type AccountLimiter } from '../../src/limits/minute-limit.ts';
import { silentLog } from '../../src/kit/log.ts';
import { createBlackHole } from './black-hole.ts';
import { createRedisServer } from './redis-server.ts';
import { openSharedRedis } from './shared-redis.ts';
import { hasService } from '../outside-services.ts';

const shared = await openSharedRedis();
const patientMs = 10_000;

const acme = { accountId: 'acme', limit: 5 };

const refusalOf = async (limiter: AccountLimiter, caller = acme): Promise<AppError | null> => {
  try {
    await limiter.consume(caller.accountId, caller.limit);
    return null;
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
};
const countAllowed = async (limiter: AccountLimiter, count: number, caller = acme): Promise<number> => {
  const refusals = await Promise.all(Array.from({ length: count }, () => refusalOf(limiter, caller)));
  return refusals.filter((refusal) => refusal === null).length;
};

const connections: RedisConnection[] = [];
const connect = (url: string): RedisConnection => {
  const connection = createRedisConnection({ url, log: silentLog });
  connections.push(connection);
  return connection;
};
afterEach(async () => {
  for (const connection of connections.splice(0)) await connection.close();
});

describe('the limit of an account in one process', () => {
  it('allows exactly the limit of many calls at once, and refuses with 429 and a time', async () => {
    const limiter = createAccountLimiter({ redis: null });
    expect(await countAllowed(limiter, 100)).toBe(5);
    const refusal = await refusalOf(limiter);
    expect([refusal?.status, refusal?.code]).toEqual([429, 'rate_limit_exceeded']);
    expect(refusal?.retryAfterSeconds).toBeGreaterThanOrEqual(1);
    expect(refusal?.retryAfterSeconds).toBeLessThanOrEqual(60);
    expect(refusal?.message).toContain('at most 5 a minute');
  });

  it('counts accounts apart', async () => {
    const limiter = createAccountLimiter({ redis: null });
    expect(await countAllowed(limiter, 10)).toBe(5);
    expect(await countAllowed(limiter, 10, { ...acme, accountId: 'other' })).toBe(5);
  });

  it('goes by the limit that holds at the call, and keeps what was counted', async () => {
    const limiter = createAccountLimiter({ redis: null });
    const raised = { ...acme, limit: 8 };
    expect(await countAllowed(limiter, 5)).toBe(5);
    expect(await countAllowed(limiter, 10, raised)).toBe(3);
  });
});

describe.skipIf(shared === null)('the limit of an account on several replicas with one Redis', () => {
  const server = shared!;
  afterAll(() => server.close());
  const replica = (name: string): AccountLimiter =>
    createAccountLimiter({
      redis: connect(server.url),
      timeoutMs: patientMs,
      keyPrefix: `${server.prefix}-${name}`,
    });

  it('allows exactly the limit in all', async () => {
    const allowed = await Promise.all(
      [replica('exact'), replica('exact')].map((limiter) => countAllowed(limiter, 100)),
    );
    expect(allowed.reduce((sum, count) => sum + count, 0)).toBe(5);
  });

  it('goes by the limit that holds at the call there too', async () => {
    const [one, other] = [replica('raised'), replica('raised')];
    expect(await countAllowed(one, 10)).toBe(5);
    // The ten counted, the five refused with them.
    expect(await countAllowed(other, 20, { ...acme, limit: 20 })).toBe(10);
  });
});

describe.skipIf(!hasService('redis-server'))('the limit of an account when Redis fails', () => {
  it('goes on from what this process has counted when Redis dies', async () => {
    const server = await createRedisServer();
    onTestFinished(() => server.remove());
    await server.start();
    const limiter = createAccountLimiter({ redis: connect(server.url), timeoutMs: patientMs });
    expect(await countAllowed(limiter, 3)).toBe(3);
    await server.kill();
    expect(await countAllowed(limiter, 500)).toBe(2);
  });

  it('decides every call while Redis hangs', async () => {
    const server = await createRedisServer();
    onTestFinished(() => server.remove());
    await server.start();
    const limiter = createAccountLimiter({ redis: connect(server.url) });
    await limiter.consume(acme.accountId, acme.limit);
    server.freeze();
    expect(await countAllowed(limiter, 500)).toBe(4);
  });

  it('decides every call when what listens in the place of Redis never answers', async () => {
    const hole = await createBlackHole(null);
    onTestFinished(() => hole.close());
    const limiter = createAccountLimiter({ redis: connect(hole.url) });
    expect(await countAllowed(limiter, 500)).toBe(5);
  });
});
