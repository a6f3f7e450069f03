import { expect, test } from 'vitest';
import { formatTable } from '../../src/cli/format-table.ts';

test('columns stand below their titles, numbers end below each other, and no line ends in spaces', () => {
  const columns = [{ title: 'NAME' }, { title: 'USD', align: 'right' as const }, { title: 'NOTE' }];
  const rows = [
    ['Acme', '5.00', 'x'],
    ['A', '1200.00', ''],
  ];
  expect(formatTable(columns, rows)).toBe(
    ['NAME      USD  NOTE', 'Acme     5.00  x', 'A     1200.00'].join('\n'),
  );
});

test('characters that a terminal draws two columns wide are counted so', () => {
  const columns = [{ title: 'NAME' }, { title: 'X' }];
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
