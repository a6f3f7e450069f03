import fc from 'fast-check';
import { expect, test } from 'vitest';
import { delayAfter } from '../../../src/jobs/webhooks/webhook-dispatcher.ts';

const seconds = [5, 30, 120, 600, 1_800, 7_200, 21_600, 43_200];

test('eight retries follow the first attempt, in ever longer steps, and then none', () => {
  expect(seconds.map((_, index) => delayAfter(index + 1, 0.5))).toEqual(seconds.map((each) => each * 1_000));
  expect(delayAfter(9, 0.5)).toBeNull();
});

test('a receiver may ask for a longer delay, up to the next step, but not for a shorter one', () => {
  const minutes = (count: number): number => count * 60_000;
  expect(
    [0, 5_000, 20_000, 30_000, 31_000, Number.MAX_SAFE_INTEGER].map((ms) => delayAfter(1, 0.5, ms)),
  ).toEqual([5_000, 5_000, 20_000, 30_000, 30_000, 30_000]);
  expect([1, 5, 11].map((count) => delayAfter(3, 0.5, minutes(count)))).toEqual([2, 5, 10].map(minutes));
  // No step follows the last one, so it stays as long as it is.
  expect([minutes(1), minutes(60 * 24)].map((ms) => delayAfter(8, 0.5, ms))).toEqual([
    43_200_000, 43_200_000,
  ]);
  expect(delayAfter(9, 0.5, 1)).toBeNull();
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 8 }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      fc.nat({ max: 100_000_000 }),
      (attempt, random, asked) => {
        const next = (seconds[attempt] ?? seconds[attempt - 1] ?? 0) * 1_000;
        const scheduled = delayAfter(attempt, random) ?? 0;
        expect(delayAfter(attempt, random, asked)).toBe(Math.max(scheduled, Math.min(asked, next)));
      },
    ),
  );
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
