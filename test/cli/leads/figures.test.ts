import { expect, test } from 'vitest';
import { countOf, figureLines, formatBytes, formatDuration } from '../../../src/cli/leads/figures.ts';

test.each([
  [0, '0.0 s'],
  [840, '0.8 s'],
  [9_949, '9.9 s'],
  [9_960, '10 s'],
  [59_400, '59 s'],
  [59_600, '1 min 0 s'],
  [3_599_400, '59 min 59 s'],
  [3_599_900, '1 h 0 min'],
  [7_830_000, '2 h 11 min'],
])('%i ms are %s', (milliseconds, text) => {
  expect(formatDuration(milliseconds)).toBe(text);
});

test.each([
  [0, '0 bytes'],
  [999, '999 bytes'],
  [1_500, '1.5 KB'],
  [999_960, '1.0 MB'],
  [123_456_789, '123 MB'],
  [2_500_000_000, '2.5 GB'],
  [5e15, '5000 TB'],
])('%i bytes are %s', (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});

test('numbers are grouped, and their word agrees with them', () => {
  expect([countOf(1, 'row'), countOf(2, 'row'), countOf(1_234_567, 'person', 'people')]).toEqual([
    '1 row',
    '2 rows',
    '1,234,567 people',
  ]);
});

test('figures end below each other', () => {
  expect(
    figureLines([
      ['added', '12,345'],
      ['in all', '7', 'now'],
    ]),
  ).toBe('  added   12,345\n  in all       7  now');
});
