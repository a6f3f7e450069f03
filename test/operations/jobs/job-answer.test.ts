import { expect, test } from 'vitest';
import { waitLimit } from '../../../src/operations/jobs/job-answer.ts';

test.each([
  ['mcp', 0, 0],
  ['mcp', 45_000, 45_000],
  ['mcp', 45_001, 45_000],
  ['mcp', 300_000, 45_000],
  ['rest', 300_000, 300_000],
] as const)('a call over %s that may wait %i ms waits %i ms at most', (transport, deadlineMs, waitMs) => {
  expect(waitLimit(transport, deadlineMs)).toBe(waitMs);
});
