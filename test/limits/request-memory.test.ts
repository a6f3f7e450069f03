import { describe, expect, it } from 'vitest';
import { createMemoryBudget } from '../../src/limits/memory-budget.ts';
import { createRequestMemory } from '../../src/limits/request-memory.ts';

const never = new AbortController().signal;
const settled = () => new Promise((resolve) => setImmediate(resolve));

const start = ({ totalBytes = 100, leastBodyShare = 0 } = {}) => {
  const budget = createMemoryBudget({ totalBytes });
  const memory = createRequestMemory({ budget, signal: never, accountId: 'account', leastBodyShare });
  /** How much somebody else could have now. */
  const free = async (): Promise<number> => {
    for (let bytes = totalBytes; bytes > 0; bytes -= 1) {
      const impatient = new AbortController();
      const asked = budget.reserve(bytes, { signal: impatient.signal }).then(
        (release) => (release(), true),
        () => false,
      );
      await settled();
      impatient.abort(new Error('not free'));
      if (await asked) return bytes;
    }
    return 0;
  };
  return { memory, free };
};

describe('the memory of a request', () => {
  it('is held until all that uses it has ended, and then given back whole', async () => {
    const { memory, free } = start();
    const answered = Promise.withResolvers<void>();
    const job = Promise.withResolvers<void>();
    memory.holdUntil(answered.promise);
    memory.holdUntil(job.promise);
    await memory.takeBody(40);
    await memory.take(20, never);
    answered.resolve();
    await settled();
    expect(await free()).toBe(40);
    job.reject(new Error('the lease was lost'));
    await settled();
    expect(await free()).toBe(100);
  });

  it('shrinks to what the body turned out to cost, and to a share of that', async () => {
    const { memory, free } = start();
    await memory.takeBody(80);
    await memory.take(4, never);
    memory.measureBody(40);
    expect(await free()).toBe(56);
    memory.settleBody(0.5);
    expect(await free()).toBe(76);
    // It never grows again.
    memory.settleBody(1);
    memory.measureBody(80);
    expect(await free()).toBe(76);
  });

  it('keeps what its transport holds', async () => {
    const { memory, free } = start({ leastBodyShare: 0.5 });
    await memory.takeBody(80);
    memory.settleBody(0.25);
    expect(await free()).toBe(60);
  });

  it('counts at most as the whole, so that the largest request is served alone', async () => {
    const { memory, free } = start({ totalBytes: 10 });
    await memory.takeBody(8);
    await Promise.all([memory.take(50, never), memory.take(50, never)]);
    expect(await free()).toBe(0);
  });

  it('lets go what it gets after its end', async () => {
    const { memory, free } = start();
    const taking = memory.take(50, never);
    memory.holdUntil(Promise.resolve());
    await settled();
    await taking;
    await memory.take(50, never);
    expect(await free()).toBe(100);
  });
});
