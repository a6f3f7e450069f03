import { expect, test } from 'vitest';
import { retryAfterMs } from '../../src/http/send-request.ts';

const now = Date.UTC(1994, 10, 6, 8, 49, 0);

test.each([
  ['0', 0],
  ['120', 120_000],
  [' 7 ', 7_000],
  ['9'.repeat(400), Number.MAX_SAFE_INTEGER],
  ['Sun, 06 Nov 1994 08:49:37 GMT', 37_000],
  ['Sunday, 06-Nov-94 08:49:37 GMT', 37_000],
  ['Sun Nov  6 08:49:37 1994', 37_000],
  ['Sat, 05 Nov 1994 08:49:37 GMT', 0],
])('Retry-After %j asks to wait %d ms', (header, ms) => {
  expect(retryAfterMs(header, now)).toBe(ms);
});

test.each([
  '',
  'soon',
  '-5',
  '+5',
  '1e3',
  '5 s',
  'Nov 1994',
  '1994-11-06',
  'Sun, 99 Foo 1994 08:49:37 GMT',
  ['5', '6'],
])('Retry-After %j asks for nothing', (header) => {
  expect(retryAfterMs(header, now)).toBeUndefined();
});

test('an answer without Retry-After asks for nothing', () => {
  expect([undefined, null].map((header) => retryAfterMs(header, now))).toEqual([undefined, undefined]);
});
