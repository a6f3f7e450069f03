import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bodyCost, createMemoryBudget } from '../../src/limits/memory-budget.ts';

const never = new AbortController().signal;
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('a memory budget', () => {
  it('never gives out more than it has, and lets everybody through in the end', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 150 }), { maxLength: 40 }), async (sizes) => {
        const budget = createMemoryBudget({ totalBytes: 100 });
        let held = 0;
        let most = 0;
        await Promise.all(
          sizes.map(async (size) => {
            const release = await budget.reserve(size, { signal: never });
            held += Math.min(size, 100);
            most = Math.max(most, held);
            await settled();
            held -= Math.min(size, 100);
            release();
            release();
          }),
        );
        expect(most).toBeLessThanOrEqual(100);
        const whole = await budget.reserve(100, { signal: AbortSignal.timeout(60_000) });
        whole();
      }),
      { numRuns: 50 },
    );
  });

  it('lets nobody overtake a large request that waits', async () => {
    const budget = createMemoryBudget({ totalBytes: 10 });
    const order: string[] = [];
    const first = await budget.reserve(6, { signal: never });
    const large = budget.reserve(8, { signal: never }).then((release) => (order.push('large'), release));
    const small = budget.reserve(1, { signal: never }).then((release) => (order.push('small'), release));
    await settled();
    expect(order).toEqual([]);
    first();
    (await large)();
    (await small)();
    expect(order).toEqual(['large', 'small']);
  });

  it('refuses after its longest wait, and beyond its queue, with a time to come back', async () => {
    const budget = createMemoryBudget({ totalBytes: 1, longestWaitMs: 20, maxWaiting: 1 });
    const release = await budget.reserve(1, { signal: never });
    const refusal = { code: 'overloaded', retryAfterSeconds: expect.any(Number) };
    const waiting = budget.reserve(1, { signal: never });
    await expect(budget.reserve(1, { signal: never })).rejects.toMatchObject(refusal);
    await expect(waiting).rejects.toMatchObject(refusal);
    release();
    (await budget.reserve(1, { signal: never }))();
  });

  it('leaves a quarter to others than the account that holds the most, and lets them overtake it', async () => {
    const budget = createMemoryBudget({ totalBytes: 100 });
    const reserve = (bytes: number, accountId: string) => budget.reserve(bytes, { signal: never, accountId });
    const order: string[] = [];
    const first = await reserve(50, 'greedy');
    const second = await reserve(25, 'greedy');
    const third = reserve(1, 'greedy').then((release) => (order.push('greedy'), release));
    const other = await reserve(20, 'modest');
    const large = reserve(100, 'late').then((release) => (order.push('late'), release));
    const small = reserve(5, 'modest').then((release) => (order.push('modest'), release));
    await settled();
    expect(order).toEqual([]);
    first();
    (await third)();
    for (const release of [second, other]) release();
    (await large)();
    (await small)();
    expect(order).toEqual(['greedy', 'late', 'modest']);
  });

  it('takes back a part, once', async () => {
    const budget = createMemoryBudget({ totalBytes: 10 });
    const release = await budget.reserve(10, { signal: never, accountId: 'one' });
    release(4);
    release(7);
    (await budget.reserve(6, { signal: never }))();
    const order: string[] = [];
    const waiting = budget.reserve(7, { signal: never }).then((next) => (order.push('admitted'), next));
    await settled();
    expect(order).toEqual([]);
    release();
    (await waiting)();
    const all = await budget.reserve(10, { signal: AbortSignal.timeout(60_000), accountId: 'one' });
    all();
  });

  it('gives a request that holds some already the rest, when its account holds nothing beside it', async () => {
    const budget = createMemoryBudget({ totalBytes: 100 });
    const signal = AbortSignal.timeout(60_000);
    const first = await budget.reserve(60, { signal, accountId: 'one' });
    const more = await budget.reserve(500, { signal, accountId: 'one', heldBytes: 60 });
    const order: string[] = [];
    const waiting = budget.reserve(100, { signal }).then((release) => (order.push('admitted'), release));
    first();
    await settled();
    expect(order).toEqual([]);
    more();
    (await waiting)();
  });

  it('forgets a request whose client has gone', async () => {
    const budget = createMemoryBudget({ totalBytes: 10 });
    const release = await budget.reserve(10, { signal: never });
    const gone = new AbortController();
    const waiting = budget.reserve(5, { signal: gone.signal });
    gone.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
    release();
    (await budget.reserve(10, { signal: never }))();
  });
});

describe('the cost of a body', () => {
  it('is nothing for small ones, grows with the length, and is the largest for one of unknown length', () => {
    expect(bodyCost('1000', 10_000_000)).toBe(0);
    expect(bodyCost('1000000', 10_000_000)).toBeGreaterThan(1_000_000);
    expect(bodyCost(undefined, 10_000_000)).toBe(bodyCost('10000000', 10_000_000));
    expect(bodyCost('nonsense', 10_000_000)).toBe(bodyCost('10000000', 10_000_000));
  });
});
