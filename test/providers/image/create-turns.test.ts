import { describe, expect, it } from 'vitest';
import { createTurns, TooManyWaitingError } from '../../../src/providers/image/create-turns.ts';
import { noAbort, rejectionOf } from '../collect.ts';

/** A task that ends when it is told to. */
const openTask = () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { run: () => promise, end: resolve };
};

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('turns', () => {
  it('let so many tasks run at once, and the others in the order of their coming', async () => {
    const inTurn = createTurns({ atOnce: 2, queueLimit: 10 });
    const tasks = Array.from({ length: 5 }, openTask);
    const begun: number[] = [];
    const all = tasks.map(({ run }, index) =>
      inTurn(
        async () => {
          begun.push(index);
          await run();
          return index;
        },
        { signal: noAbort() },
      ),
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

  it('refuse one more than may wait', async () => {
    const inTurn = createTurns({ atOnce: 1, queueLimit: 1 });
    const task = openTask();
    const both = [inTurn(task.run, { signal: noAbort() }), inTurn(task.run, { signal: noAbort() })];
    expect(await rejectionOf(inTurn(task.run, { signal: noAbort() }))).toBeInstanceOf(TooManyWaitingError);
    task.end();
    await Promise.all(both);
  });

  it('go on after a task that failed', async () => {
    const inTurn = createTurns({ atOnce: 1, queueLimit: 5 });
    const fault = new Error('broken');
    const failing = inTurn(() => Promise.reject(fault), { signal: noAbort() });
    const next = inTurn(() => Promise.resolve('done'), { signal: noAbort() });
    expect(await rejectionOf(failing)).toBe(fault);
    expect(await next).toBe('done');
    expect(await inTurn(() => Promise.resolve('again'), { signal: noAbort() })).toBe('again');
  });

  it('lose nobody’s place when a waiting one gives up', async () => {
    const inTurn = createTurns({ atOnce: 1, queueLimit: 5 });
    const task = openTask();
    const first = inTurn(task.run, { signal: noAbort() });
    const giveUp = new AbortController();
    const second = rejectionOf(inTurn(() => Promise.resolve('never'), { signal: giveUp.signal }));
    const third = inTurn(() => Promise.resolve('third'), { signal: noAbort() });
    const reason = new Error('enough');
    giveUp.abort(reason);
    expect(await second).toBe(reason);
    task.end();
    await first;
    expect(await third).toBe('third');
    expect(await rejectionOf(inTurn(() => Promise.resolve('late'), { signal: giveUp.signal }))).toBe(reason);
  });
});
