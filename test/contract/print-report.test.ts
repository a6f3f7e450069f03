import { expect, it } from 'vitest';
import { formatSummary } from '../../scripts/contract/print-report.ts';

const summaryOf = (spentUsd: string | null): string =>
  formatSummary({ baseUrl: '', results: [], passed: 3, failed: 0, skipped: 1, spentUsd });

it.each([
  ['0.2524351', '; the balance fell by $0.2524351'],
  ['0.00', '; the balance fell by $0.00'],
  // A hold of an earlier run may end during this one.
  ['-0.2524351', '; the balance rose by $0.2524351'],
  [null, ''],
])('a run that spent %s says so: %s', (spentUsd, money) => {
  expect(summaryOf(spentUsd)).toBe(`3 passed, 0 failed, 1 skipped${money}`);
});
