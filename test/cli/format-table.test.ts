import { expect, test } from 'vitest';
import { formatTable } from '../../src/cli/format-table.ts';

test('columns stand below their titles, numbers end below each other, and no line ends in spaces', () => {
  const columns = ['NAME', { right: 'USD' }, 'NOTE'];
  const rows = [
    ['Acme', '5.00', 'x'],
    ['A', '1200.00', ''],
  ];
  expect(formatTable(columns, rows)).toBe(
    ['NAME      USD  NOTE', 'Acme     5.00  x', 'A     1200.00'].join('\n'),
  );
});

test('characters that a terminal draws two columns wide are counted so', () => {
  const columns = ['NAME', 'X'];
  const rows = [
    ['株式会社', 'x'],
    ['🎬🎬', 'x'],
    ['abcdefgh', 'x'],
    ['e\u0301', 'x'],
  ];
  expect(formatTable(columns, rows)).toBe(
    ['NAME      X', '株式会社  x', '🎬🎬      x', 'abcdefgh  x', 'e\u0301         x'].join('\n'),
  );
});

test('what comes from outside moves, colours and turns round nothing on a terminal', () => {
  const columns = ['PAYER', 'X'];
  const rows = [['\u001b[2Ja\u202eb\u009b\r\n\tc\u2028', 'x']];
  expect(formatTable(columns, rows)).toBe(['PAYER   X', '[2Jabc  x'].join('\n'));
});
