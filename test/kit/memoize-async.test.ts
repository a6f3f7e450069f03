import { expect, it } from 'vitest';
import { memoizeAsync } from '../../src/kit/memoize.ts';

it('makes a thing once for all who ask, and anew after a failure', async () => {
  let calls = 0;
  const get = memoizeAsync(async () => {
    calls += 1;
    if (calls === 1) throw new Error('not yet');
    return { calls };
  });
  const [first, second] = await Promise.allSettled([get(), get()]);
  expect([first?.status, second?.status, calls]).toEqual(['rejected', 'rejected', 1]);
  const made = await Promise.all([get(), get()]);
  expect(made).toEqual([{ calls: 2 }, { calls: 2 }]);
  expect(made[0]).toBe(await get());
});
