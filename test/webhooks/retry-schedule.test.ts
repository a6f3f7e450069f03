import fc from 'fast-check';
import { expect, test } from 'vitest';
import { delayAfter } from '../../src/webhooks/retry-schedule.ts';

const seconds = [5, 30, 120, 600, 1_800, 7_200, 21_600, 43_200];

test('eight retries follow the first attempt, in ever longer steps, and then none', () => {
  expect(seconds.map((_, index) => delayAfter(index + 1, 0.5))).toEqual(seconds.map((each) => each * 1_000));
  expect(delayAfter(9, 0.5)).toBeNull();
});

test('a delay is at most a fifth longer or shorter, and both happen', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 8 }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (attempt, random) => {
        const nominal = (seconds[attempt - 1] ?? 0) * 1_000;
        const delay = delayAfter(attempt, random) ?? 0;
        expect(Math.abs(delay - nominal)).toBeLessThanOrEqual(nominal * 0.2);
      },
    ),
  );
  expect([delayAfter(1, 0), delayAfter(1, 0.999_999)]).toEqual([4_000, 6_000]);
});
