import { describe, expect, it } from 'vitest';
import { createCircuitBreaker, failuresInARow } from '../../src/kit/circuit-breaker.ts';

const setUp = () => {
  const time = { nowMs: 0 };
  const breaker = createCircuitBreaker({
    opensAfter: failuresInARow(3),
    openMs: 1_000,
    probeMs: 1_000,
    nowMs: () => time.nowMs,
  });
  const allows = (): boolean => breaker.enter() !== null;
  const failTimes = (count: number): void => {
    for (let call = 0; call < count; call += 1) breaker.failed();
  };
  return { time, breaker, allows, failTimes };
};

describe('a circuit breaker for failures in a row', () => {
  it('stays closed below its failures in a row', () => {
    const { breaker, allows, failTimes } = setUp();
    failTimes(2);
    expect(allows()).toBe(true);
    breaker.succeeded();
    failTimes(2);
    expect(allows()).toBe(true);
  });

  it('opens for its time, then lets one call try', () => {
    const { time, allows, failTimes } = setUp();
    failTimes(3);
    time.nowMs = 999;
    expect(allows()).toBe(false);
    time.nowMs = 1_000;
    expect([allows(), allows()]).toEqual([true, false]);
  });

  it('opens again when the try fails, and closes when it succeeds', () => {
    const { time, breaker, allows, failTimes } = setUp();
    failTimes(3);
    time.nowMs = 1_000;
    allows();
    breaker.failed();
    time.nowMs = 1_999;
    expect(allows()).toBe(false);
    time.nowMs = 2_000;
    expect(allows()).toBe(true);
    breaker.succeeded();
    expect([allows(), allows()]).toEqual([true, true]);
  });

  it('lets another call try when the last one never came back', () => {
    const { time, allows, failTimes } = setUp();
    failTimes(3);
    time.nowMs = 1_000;
    expect(allows()).toBe(true);
    time.nowMs = 2_000;
    expect(allows()).toBe(true);
  });

  it('lets the next call try at once when the one that tried was given up', () => {
    const { time, breaker, allows, failTimes } = setUp();
    const early = breaker.enter();
    failTimes(3);
    early?.released();
    expect(allows()).toBe(false);
    time.nowMs = 1_000;
    breaker.enter()?.released();
    expect([allows(), allows()]).toEqual([true, false]);
  });

  it('closes when the one that tried comes back after another one has begun to try', () => {
    const { time, breaker, allows, failTimes } = setUp();
    failTimes(3);
    time.nowMs = 1_000;
    const slow = breaker.enter();
    time.nowMs = 2_000;
    expect([allows(), allows()]).toEqual([true, false]);
    slow?.succeeded();
    expect([allows(), allows()]).toEqual([true, true]);
  });
});
