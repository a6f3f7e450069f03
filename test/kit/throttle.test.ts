import { expect, it } from 'vitest';
import { throttle } from '../../src/kit/repeat.ts';

it('acts at most once in the interval, and says how many calls were left out', () => {
  let now = 5;
  const acts: [string, number][] = [];
  const call = throttle<string>(
    100,
    (value, leftOut) => void acts.push([value, leftOut]),
    () => now,
  );
  call('first');
  call('second');
  now = 104;
  call('third');
  now = 105;
  call('fourth');
  expect(acts).toEqual([
    ['first', 0],
    ['fourth', 2],
  ]);
});
