import { expect, test } from 'vitest';
import { rateHeaders, tooMany } from '../../src/limits/minute-limit.ts';

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

test.each([
  [0, '0ms'],
  [5.2, '6ms'],
  [999.5, '1000ms'],
  [1_000, '1s'],
  [12_001, '13s'],
])('with %d ms left of the minute, the headers of OpenAI say %s', (msLeft, reset) => {
  const headers = {
    'x-ratelimit-limit-requests': '7',
    'x-ratelimit-remaining-requests': '2',
    'x-ratelimit-reset-requests': reset,
  };
  expect(rateHeaders({ ratePerMinute: 7, remaining: 2, msLeft })).toEqual(headers);
  expect(tooMany('Too many searches', { ratePerMinute: 7, msLeft }).headers).toEqual({
    ...headers,
    'x-ratelimit-remaining-requests': '0',
  });
});
