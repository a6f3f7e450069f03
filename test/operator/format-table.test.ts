import { expect, test } from 'vitest';
import { formatTable } from '../../src/operator/format-table.ts';

test('columns stand below their titles, numbers end below each other, and no line ends in spaces', () => {
  const columns = 'name >amount=USD note';
  const rows = [
    { name: 'Acme', amount: '5.00', note: 'x', hidden: 1 },
    { name: 'A', amount: '1200.00', note: '' },
  ];
  expect(formatTable(columns, rows)).toBe(
    ['NAME      USD  NOTE', 'Acme     5.00  x', 'A     1200.00'].join('\n'),
  );
});

test('characters that a terminal draws two columns wide are counted so', () => {
  const columns = 'name x';
  const rows = ['株式会社', '🎬🎬', 'abcdefgh', 'e\u0301'].map((name) => ({ name, x: 'x' }));
  expect(formatTable(columns, rows)).toBe(
    ['NAME      X', '株式会社  x', '🎬🎬      x', 'abcdefgh  x', 'e\u0301         x'].join('\n'),
  );
});

test('what comes from outside moves, colours and turns round nothing on a terminal', () => {
  const columns = 'payer x';
  const rows = [{ payer: '\u001b[2Ja\u202eb\u009b\r\n\tc\u2028', x: 'x' }];
  expect(formatTable(columns, rows)).toBe(['PAYER   X', '[2Jabc  x'].join('\n'));
});
