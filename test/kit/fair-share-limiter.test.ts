import { describe, expect, it } from 'vitest';
import { createFairShareLimiter, QueueFullError } from '../../src/kit/fair-share-limiter.ts';
import { rejectionOf } from '../providers/collect.ts';

const { signal } = new AbortController();

/** A task that ends when it is told to. */
const openTask = () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { run: () => promise, end: resolve };
};

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const createRun = (total: number, queueTotal: number) => {
  const limiter = createFairShareLimiter({ total, queue: { total: queueTotal } });
  return <Result>(work: () => Promise<Result>, options = { signal }) => limiter.run({}, options, work);
};

describe('a limiter that runs tasks', () => {
  it('runs a number of tasks at once, and the others in the order of their coming', async () => {
    const inTurn = createRun(2, 10);
    const tasks = Array.from({ length: 5 }, openTask);
    const begun: number[] = [];
    const all = tasks.map(({ run }, index) =>
      inTurn(async () => {
        begun.push(index);
        await run();
        return index;
      }),
    );
    await settled();
    expect(begun).toEqual([0, 1]);
    tasks[1]?.end();
    await settled();
    expect(begun).toEqual([0, 1, 2]);
    for (const { end } of tasks) end();
    expect(await Promise.all(all)).toEqual([0, 1, 2, 3, 4]);
    expect(begun).toEqual([0, 1, 2, 3, 4]);
  });

  it('refuses one more than may wait', async () => {
    const inTurn = createRun(1, 1);
    const task = openTask();
    const both = [inTurn(task.run), inTurn(task.run)];
    expect(await rejectionOf(inTurn(task.run))).toBeInstanceOf(QueueFullError);
    task.end();
    await Promise.all(both);
  });

  it('goes on after a task that failed', async () => {
    const inTurn = createRun(1, 5);
    const fault = new Error('broken');
    const failing = inTurn(() => Promise.reject(fault));
    const next = inTurn(() => Promise.resolve('done'));
    expect(await rejectionOf(failing)).toBe(fault);
    expect(await next).toBe('done');
    expect(await inTurn(() => Promise.resolve('again'))).toBe('again');
  });

  it('loses no slot when a waiting task gives up', async () => {
    const inTurn = createRun(1, 5);
    const task = openTask();
    const first = inTurn(task.run);
    const giveUp = new AbortController();
    const second = rejectionOf(inTurn(() => Promise.resolve('never'), { signal: giveUp.signal }));
    const third = inTurn(() => Promise.resolve('third'));
    const reason = new Error('enough');
    giveUp.abort(reason);
    expect(await second).toBe(reason);
    task.end();
    await first;
    expect(await third).toBe('third');
    expect(await rejectionOf(inTurn(() => Promise.resolve('late'), { signal: giveUp.signal }))).toBe(reason);
  });
});

describe('the slots of a limiter', () => {
  it('go to an owner up to a quarter, and at least one', () => {
    const many = createFairShareLimiter({ total: 8 });
    const isGiven = ['a', 'a', 'a', 'b'].map((owner) => many.tryAcquire({ owner }) !== null);
    expect(isGiven).toEqual([true, true, false, true]);
    const few = createFairShareLimiter({ total: 2 });
    expect(['a', 'a', 'b', 'c'].map((owner) => few.tryAcquire({ owner }) !== null)).toEqual([
      true,
      false,
      true,
      false,
    ]);
  });

  it('go without a limit of its own to an undefined owner, and no more of them than there are', () => {
    const limiter = createFairShareLimiter({ total: 2 });
    expect([1, 2, 3].map(() => limiter.tryAcquire({ owner: undefined }) !== null)).toEqual([
      true,
      true,
      false,
    ]);
    expect(limiter.tryAcquire({ owner: 'a' })).toBeNull();
  });

  it('are released once, however often that is asked', () => {
    const limiter = createFairShareLimiter({ total: 4 });
    const release = limiter.tryAcquire({ owner: 'a' });
    release?.();
    release?.();
    expect(['a', 'a'].map((owner) => limiter.tryAcquire({ owner }) !== null)).toEqual([true, false]);
  });

  it('have a limit for each kind of owner, and all together no more than there are', () => {
    const limiter = createFairShareLimiter({ total: 5, perOwner: { host: 2, account: 3, receiver: 2 } });
    const enter = (account: string, host: string) =>
      limiter.tryAcquire({ account, host, receiver: `${account} ${host}` });
    const first = enter('a', 'slow');
    expect(first).not.toBeNull();
    expect(enter('b', 'slow')).not.toBeNull();
    expect(enter('c', 'slow')).toBeNull();
    expect(enter('a', 'x')).not.toBeNull();
    expect(enter('a', 'y')).not.toBeNull();
    expect(enter('a', 'z')).toBeNull();
    expect(enter('d', 'w')).not.toBeNull();
    expect([limiter.free, enter('e', 'v')]).toEqual([0, null]);
    first?.();
    expect(enter('c', 'slow')).not.toBeNull();
  });

  it('of one host go to no account so far that nothing is left to the others there', () => {
    const limiter = createFairShareLimiter({ total: 9, perOwner: { host: 4, account: 9, receiver: 2 } });
    const enter = (account: string, host: string) =>
      limiter.tryAcquire({ account, host, receiver: `${account} ${host}` });
    const first = enter('a', 'relay');
    expect([first, enter('a', 'relay')]).not.toContain(null);
    expect(enter('a', 'relay')).toBeNull();
    expect([enter('b', 'relay'), enter('a', 'own')]).not.toContain(null);
    first?.();
    expect(enter('a', 'relay')).not.toBeNull();
    expect(enter('a', 'relay')).toBeNull();
  });
});

describe('the queue of a limiter', () => {
  it('is served in order and has a length', async () => {
    const limiter = createFairShareLimiter({ total: 1, queue: { total: 2 } });
    const entered: string[] = [];
    const enter = async (name: string): Promise<() => void> => {
      const release = await limiter.acquire({}, { signal });
      entered.push(name);
      return release;
    };
    const release = await enter('first');
    const second = enter('second');
    const third = enter('third');
    await expect(enter('fourth')).rejects.toBeInstanceOf(QueueFullError);
    release();
    (await second)();
    (await third)();
    expect(entered).toEqual(['first', 'second', 'third']);
  });

  it('refuses in words of its own, also after the longest wait', async () => {
    const refusal = () => new Error('busy');
    const limiter = createFairShareLimiter({ total: 1, queue: { total: 1, longestWaitMs: 5, refusal } });
    const release = await limiter.acquire({}, { signal });
    const waiting = limiter.acquire({}, { signal });
    await expect(limiter.acquire({}, { signal })).rejects.toThrow('busy');
    await expect(waiting).rejects.toThrow('busy');
    release();
    (await limiter.acquire({}, { signal }))();
  });

  it('gets a slot back once from one who releases it twice', async () => {
    const limiter = createFairShareLimiter({ total: 1 });
    const release = await limiter.acquire({}, { signal });
    release();
    release();
    await limiter.acquire({}, { signal });
    await expect(limiter.acquire({}, { signal })).rejects.toBeInstanceOf(QueueFullError);
  });

  it('is left by who gives up waiting', async () => {
    const limiter = createFairShareLimiter({ total: 1, queue: { total: 1 } });
    const release = await limiter.acquire({}, { signal });
    const impatient = new AbortController();
    const waiting = limiter.acquire({}, { signal: impatient.signal });
    const reason = new Error('no longer wanted');
    impatient.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    const next = limiter.acquire({}, { signal });
    release();
    await next;
    await expect(limiter.acquire({}, { signal: impatient.signal })).rejects.toBe(reason);
  });

  it('moves past those who wait for their own share, in order', async () => {
    const limiter = createFairShareLimiter({ total: 4, queue: { total: 8 } });
    const entered: string[] = [];
    const enter = async (owner: string): Promise<() => void> => {
      const release = await limiter.acquire({ owner }, { signal });
      entered.push(owner);
      return release;
    };
    const held = await Promise.all(['a', 'b', 'c', 'd'].map(enter));
    const again = enter('a');
    const others = [enter('e'), enter('f')];
    held[1]?.();
    (await others[0])?.();
    held[0]?.();
    await Promise.all([again, others[1]]);
    expect(entered).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'a']);
  });

  it('has room for an owner up to a quarter', async () => {
    const limiter = createFairShareLimiter({ total: 8, queue: { total: 4 } });
    const take = (owner: string): Promise<unknown> => limiter.acquire({ owner }, { signal });
    await Promise.all([take('a'), take('a')]);
    void take('a');
    await expect(take('a')).rejects.toBeInstanceOf(QueueFullError);
    await Promise.all([take('b'), take('b'), take('c')]);
  });

  it('refuses all that would wait when nothing may', async () => {
    const limiter = createFairShareLimiter({ total: 1, queue: { total: 0 } });
    await limiter.acquire({}, { signal });
    await expect(limiter.acquire({}, { signal })).rejects.toBeInstanceOf(QueueFullError);
  });
});
