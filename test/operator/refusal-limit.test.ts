import { expect, test } from 'vitest';
import { createRefusalLimit } from '../../src/operator/run-verb.ts';

test('a flood of addresses adds few rows, takes none from keys, and an hour later refusals have rows again', () => {
  let now = 0;
  const limit = createRefusalLimit(() => now);
  const told: number[] = [];
  const guess = (count: number): void => {
    for (let source = 0; source < count; source += 1) {
      const leftOut = limit(`address:10.0.${source >> 8}.${source & 255}`);
      if (leftOut !== null) told.push(leftOut);
    }
  };
  guess(50_000);
  expect(told).toEqual([...Array.from({ length: 60 }, () => 0), 1, 10, 100, 1_000, 10_000]);
  const ofKey = Array.from({ length: 21 }, () => limit('key:billing'));
  expect(ofKey).toEqual([...Array.from({ length: 20 }, () => 0), null]);
  now = 3_600_000;
  expect([limit('address:10.0.0.1'), limit('key:billing')]).toEqual([0, 0]);
});
