import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CircuitBreaker } from '../../src/kit/circuit-breaker.ts';
import { ProviderError, type ProviderErrorCode } from '../../src/providers/provider-error.ts';
import { createRouteBreaker } from '../../src/providers/route-attempts.ts';

const createClock = () => {
  const clock = { time: 1_000_000, now: () => clock.time };
  return clock;
};

const fail = (breaker: CircuitBreaker, times: number): void => {
  for (let count = 0; count < times; count += 1) breaker.enter()?.failed();
};

describe('the breaker of a route', () => {
  it('stays closed while fewer than ten outcomes are known', () => {
    const breaker = createRouteBreaker(createClock());
    fail(breaker, 9);
    expect(breaker.enter()).not.toBeNull();
  });

  it('opens when half of ten outcomes failed, and says for how long', () => {
    const breaker = createRouteBreaker(createClock());
    for (let count = 0; count < 5; count += 1) breaker.enter()?.succeeded();
    fail(breaker, 5);
    expect(breaker.enter()).toBeNull();
    expect(breaker.restMs()).toBe(10_000);
  });

  it('forgets outcomes older than the last 64', () => {
    const breaker = createRouteBreaker(createClock());
    for (let count = 0; count < 64; count += 1) breaker.enter()?.succeeded();
    fail(breaker, 31);
    expect(breaker.enter()).not.toBeNull();
    fail(breaker, 1);
    expect(breaker.enter()).toBeNull();
  });

  it('lets one call probe after its time, and closes when that succeeds', () => {
    const clock = createClock();
    const breaker = createRouteBreaker(clock);
    fail(breaker, 10);
    clock.time += 10_000;
    const probe = breaker.enter();
    expect(probe).not.toBeNull();
    expect(breaker.enter()).toBeNull();
    probe?.succeeded();
    fail(breaker, 9);
    expect(breaker.enter()).not.toBeNull();
  });

  it('doubles its time with each failed probe, up to five minutes', () => {
    const clock = createClock();
    const breaker = createRouteBreaker(clock);
    fail(breaker, 10);
    const rests = Array.from({ length: 7 }, () => {
      const rest = breaker.restMs();
      clock.time += rest;
      breaker.enter()?.failed();
      return rest / 1000;
    });
    expect(rests).toEqual([10, 20, 40, 80, 160, 300, 300]);
  });

  it('lets another call probe when the first ended without a verdict', () => {
    const clock = createClock();
    const breaker = createRouteBreaker(clock);
    fail(breaker, 10);
    clock.time += 10_000;
    breaker.enter()?.released();
    expect(breaker.enter()).not.toBeNull();
  });

  it('rests after a rate limit without counting a failure, a minute at most', () => {
    const clock = createClock();
    const breaker = createRouteBreaker(clock);
    for (let count = 0; count < 20; count += 1) {
      breaker.enter()?.coolDown(500);
      expect(breaker.restMs()).toBe(500);
      clock.time += 500;
    }
    breaker.enter()?.coolDown(3_600_000);
    expect(breaker.restMs()).toBe(60_000);
  });

  it('does not count calls that began before it opened', () => {
    const clock = createClock();
    const breaker = createRouteBreaker(clock);
    const early = breaker.enter();
    fail(breaker, 10);
    clock.time += 10_000;
    const probe = breaker.enter();
    early?.failed();
    probe?.succeeded();
    expect(breaker.enter()).not.toBeNull();
  });

  it('always lets a call through again after five minutes of rest, whatever happened', () => {
    const step = fc.record({
      outcome: fc.constantFrom('succeeded', 'failed', 'released', 'coolDown', 'succeeded then failed'),
      waitMs: fc.integer({ min: 0, max: 400_000 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const clock = createClock();
        const breaker = createRouteBreaker(clock);
        for (const { outcome, waitMs } of steps) {
          const pass = breaker.enter();
          if (outcome === 'coolDown') pass?.coolDown(waitMs);
          else if (outcome === 'succeeded then failed') {
            pass?.succeeded();
            pass?.failed();
          } else if (outcome === 'succeeded' || outcome === 'failed' || outcome === 'released')
            pass?.[outcome]();
          clock.time += waitMs;
        }
        clock.time += 300_000;
        expect(breaker.enter()).not.toBeNull();
      }),
    );
  });
});

describe('the health of a route', () => {
  it('counts the calls of the last minutes, and no wrong requests', () => {
    const clock = createClock();
    const { health } = createRouteBreaker(clock);
    const failed = (
      failure: 'fatal' | 'retry_same' | 'retry_other',
      code: ProviderErrorCode = 'upstream_error',
    ) => health.failed(new ProviderError('no', { failure, code }));
    health.succeeded();
    failed('fatal');
    failed('retry_other', 'invalid_parameter');
    clock.time += 60_000;
    failed('retry_same');
    expect(health.read()).toMatchObject({ calls: 2, failures: 1, lastSuccessAt: 1_000_000 });
    clock.time += 5 * 60_000;
    expect(health.read()).toMatchObject({ calls: 1, failures: 1 });
    clock.time += 60_000;
    expect(health.read()).toMatchObject({ calls: 0, failures: 0, lastFailure: { code: 'upstream_error' } });
  });
});
