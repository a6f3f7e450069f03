import fc from 'fast-check';
import { expect, test } from 'vitest';
import { instant } from '../../../src/operations/account/get-usage.ts';

test('every point in time is read as it is written, in any zone', () => {
  const offset = fc.integer({ min: -14 * 60, max: 14 * 60 });
  const time = fc.date({ min: new Date('0001-01-02'), max: new Date('9999-12-30'), noInvalidDate: true });
  fc.assert(
    fc.property(time, offset, (date, minutes) => {
      const local = new Date(date.getTime() + minutes * 60_000).toISOString().slice(0, -1);
      const two = (value: number): string => String(value).padStart(2, '0');
      const size = Math.abs(minutes);
      const zone = `${minutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`;
      expect(instant.parse(date.toISOString())).toBe(date.getTime());
      expect(instant.parse(local + zone)).toBe(date.getTime());
      expect(instant.parse(local + zone.replace('+', ' '))).toBe(date.getTime());
    }),
  );
});

test.each([
  ['2026-01-31T12:00:00Z', Date.UTC(2026, 0, 31, 12)],
  ['2026-01-31T12:00:00.123456789Z', Date.UTC(2026, 0, 31, 12, 0, 0, 123)],
  ['2026-01-31', Date.UTC(2026, 0, 31)],
  ['2028-02-29', Date.UTC(2028, 1, 29)],
])('%s is read', (text, expected) => {
  expect(instant.parse(text)).toBe(expected);
});

test.each([
  '',
  'now',
  '1767225600',
  '2026-01-31T12:00:00',
  '2026-01-31T12:00Z',
  '2026-01-31 12:00:00Z',
  '2026-02-30',
  '2026-02-30T00:00:00Z',
  '2026-13-01T00:00:00Z',
  '2026-01-31T24:00:00Z',
  '2026-01-31T12:00:00+0200',
  '2026-01-31T12:00:00Z ',
  `2026-01-31T12:00:00.${'0'.repeat(80)}Z`,
])('%j is refused', (text) => {
  expect(instant.safeParse(text).success).toBe(false);
});
