import { describe, expect, it } from 'vitest';
import { createWindowCounter } from '../../src/limits/minute-limit.ts';

const setUp = (maxBuckets = 1_000) => {
  const time = { nowMs: 1_000 };
  const counter = createWindowCounter({ windowMs: 60_000, maxBuckets, nowMs: () => time.nowMs });
  return { time, counter };
};

describe('a window counter', () => {
  it('counts each bucket from its first use to the end of its window', () => {
    const { time, counter } = setUp();
    expect(counter('a')).toEqual({ count: 1, msLeft: 60_000 });
    time.nowMs += 59_999;
    expect(counter('b')).toEqual({ count: 1, msLeft: 60_000 });
    expect(counter('a')).toEqual({ count: 2, msLeft: 1 });
    time.nowMs += 1;
    expect(counter('a')).toEqual({ count: 1, msLeft: 60_000 });
    expect(counter('b')).toEqual({ count: 2, msLeft: 59_999 });
  });

  it('counts those beyond its size together, in few buckets, and the known ones apart', () => {
    const { counter } = setUp(10);
    for (let index = 0; index < 10; index += 1) counter(`known ${index}`);
    const highest = Math.max(...Array.from({ length: 20_000 }, (_, index) => counter(`new ${index}`).count));
    expect(highest).toBeGreaterThanOrEqual(Math.ceil(20_000 / 1_024));
    expect(counter('known 3').count).toBe(2);
  });

  it('counts one newcomer always in the same shared bucket', () => {
    const { counter } = setUp(0);
    const counts = Array.from({ length: 5 }, () => counter('newcomer').count);
    expect(counts).toEqual([1, 2, 3, 4, 5]);
  });

  it('has room again when windows have ended', () => {
    const { time, counter } = setUp(1);
    counter('a');
    time.nowMs += 60_000;
    counter('b');
    expect(counter('b').count).toBe(2);
    expect(counter('a').count).toBe(1);
  });
});
