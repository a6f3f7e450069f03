import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createThreadPool, type ThreadPool } from '../../../src/kit/threads/thread-pool.ts';
import { noAbort, rejectionOf } from '../../providers/collect.ts';

const pools: ThreadPool<number | string, unknown>[] = [];

const createPool = ({ size = 1, queueLimit = 10, timeoutMs = 20_000 } = {}) => {
  const pool = createThreadPool<number | string, unknown>({
    file: new URL('./worker.ts', import.meta.url),
    size,
    queueLimit,
    timeoutMs,
    maxHeapMb: 64,
  });
  pools.push(pool);
  return pool;
};

afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.close()));
});

describe('a thread pool', () => {
  it('answers each task with its own result', async () => {
    const pool = createPool({ size: 2 });
    const results = await Promise.all([1, 2, 3, 4, 5].map((input) => pool.run(input, noAbort())));
    expect(results).toEqual([2, 4, 6, 8, 10]);
  });

  it('ends a task that takes too long, and goes on with the next', async () => {
    const pool = createPool({ timeoutMs: 500 });
    const hanging = rejectionOf(pool.run('hang', noAbort()));
    expect(await hanging).toMatchObject({ name: 'ThreadError', reason: 'timeout' });
    expect(await createPool().run(21, noAbort())).toBe(42);
  });

  it('does not count the start of a thread as the time of its first task', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const first = createPool().run(21, noAbort());
    await new Promise(setImmediate);
    vi.advanceTimersByTime(30_000);
    expect(await first).toBe(42);
  });

  it.each([['crash'], ['exit']])('fails only the task that makes its thread %s', async (word) => {
    const pool = createPool();
    const bad = rejectionOf(pool.run(word, noAbort()));
    const good = pool.run(4, noAbort());
    expect(await bad).toMatchObject({ reason: 'crashed' });
    expect(await good).toBe(8);
  });

  it('passes on why a worker refused a task', async () => {
    expect(await rejectionOf(createPool().run('refuse', noAbort()))).toMatchObject({
      reason: 'failed',
      message: 'the fixture refused',
    });
  });

  it('gives its threads nothing of the environment', async () => {
    expect(await createPool().run('environment', noAbort())).toEqual([]);
  });

  it('refuses a task when too many are waiting', async () => {
    const pool = createPool({ queueLimit: 1 });
    const hanging = rejectionOf(pool.run('hang', noAbort()));
    const waiting = rejectionOf(pool.run(1, noAbort()));
    expect(await rejectionOf(pool.run(2, noAbort()))).toMatchObject({ reason: 'full' });
    await pool.close();
    expect(await hanging).toMatchObject({ reason: 'closed' });
    expect(await waiting).toMatchObject({ reason: 'closed' });
    expect(await rejectionOf(pool.run(3, noAbort()))).toMatchObject({ reason: 'closed' });
  });

  it('forgets a waiting task whose caller aborts', async () => {
    const pool = createPool({ queueLimit: 1 });
    const hanging = rejectionOf(pool.run('hang', noAbort()));
    const controller = new AbortController();
    const reason = new Error('no longer wanted');
    const waiting = rejectionOf(pool.run(1, controller.signal));
    controller.abort(reason);
    expect(await waiting).toBe(reason);
    const next = rejectionOf(pool.run(2, noAbort()));
    await pool.close();
    expect(await hanging).toMatchObject({ reason: 'closed' });
    expect(await next).toMatchObject({ reason: 'closed' });
  });
});
