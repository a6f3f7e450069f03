import { expect, it } from 'vitest';
import { shareRunning } from '../../src/kit/memoize.ts';

it('gives one run to all who ask while it runs, and begins another one afterwards', async () => {
  let runs = 0;
  const shared = shareRunning(async () => {
    runs += 1;
    await new Promise((resolve) => setImmediate(resolve));
    return runs;
  });
  expect(await Promise.all([shared(), shared()])).toEqual([1, 1]);
  expect(await shared()).toBe(2);
});

it('begins another run after one that failed', async () => {
  let runs = 0;
  const shared = shareRunning(async () => {
    runs += 1;
    if (runs === 1) throw new Error('failed');
    return runs;
  });
  await expect(Promise.all([shared(), shared()])).rejects.toThrow('failed');
  expect(await shared()).toBe(2);
});
