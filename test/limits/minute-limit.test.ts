import { expect, test } from 'vitest';
import { tooMany } from '../../src/limits/minute-limit.ts';

test.each([
  [0, 1],
  [1, 1],
  [1_000, 1],
  [1_001, 2],
  [59_999, 60],
  [60_000, 60],
])('with %i ms left of the minute the client is told to wait %i s', (msLeft, seconds) => {
  const refusal = tooMany('Too many searches', { ratePerMinute: 7, msLeft });
  expect(refusal).toMatchObject({ status: 429, code: 'rate_limit_exceeded', retryAfterSeconds: seconds });
  expect(refusal.message).toBe(`Too many searches: at most 7 a minute. Wait as long as Retry-After says.`);
});
