import { describe, expect, it } from 'vitest';
import { createCircuitBreaker } from '../../src/kit/circuit-breaker.ts';

const setUp = () => {
  const time = { nowMs: 0 };
  const breaker = createCircuitBreaker({ maxFailures: 3, openMs: 1_000, nowMs: () => time.nowMs });
  const failTimes = (count: number): void => {
    for (let call = 0; call < count; call += 1) breaker.failed();
  };
  return { time, breaker, failTimes };
};

describe('a circuit breaker', () => {
  it('stays closed below its failures in a row', () => {
    const { breaker, failTimes } = setUp();
    failTimes(2);
    expect(breaker.allows()).toBe(true);
    breaker.succeeded();
    failTimes(2);
    expect(breaker.allows()).toBe(true);
  });

  it('opens for its time, then lets one call try', () => {
    const { time, breaker, failTimes } = setUp();
    failTimes(3);
    time.nowMs = 999;
    expect(breaker.allows()).toBe(false);
    time.nowMs = 1_000;
    expect([breaker.allows(), breaker.allows()]).toEqual([true, false]);
  });

  it('opens again when the try fails, and closes when it succeeds', () => {
    const { time, breaker, failTimes } = setUp();
    failTimes(3);
    time.nowMs = 1_000;
    breaker.allows();
    breaker.failed();
    time.nowMs = 1_999;
    expect(breaker.allows()).toBe(false);
    time.nowMs = 2_000;
    expect(breaker.allows()).toBe(true);
    breaker.succeeded();
    expect([breaker.allows(), breaker.allows()]).toEqual([true, true]);
  });

  it('lets another call try when the last one never came back', () => {
    const { time, breaker, failTimes } = setUp();
    failTimes(3);
    time.nowMs = 1_000;
    expect(breaker.allows()).toBe(true);
    time.nowMs = 2_000;
    expect(breaker.allows()).toBe(true);
  });

  it('lets the next call try at once when the one that tried was given up', () => {
    const { time, breaker, failTimes } = setUp();
    failTimes(3);
    breaker.abandoned();
    expect(breaker.allows()).toBe(false);
    time.nowMs = 1_000;
    breaker.allows();
    breaker.abandoned();
    expect([breaker.allows(), breaker.allows()]).toEqual([true, false]);
  });
});
