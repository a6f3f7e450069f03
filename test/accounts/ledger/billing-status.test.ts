import { expect, test } from 'vitest';
import { billingStatus } from '../../../src/operations/jobs/list-jobs.ts';

test.each([
  { holdState: 'open', charged: 0n, refunded: 0n, status: 'pending' },
  { holdState: 'released', charged: 0n, refunded: 0n, status: 'not_charged' },
  { holdState: 'captured', charged: 10n, refunded: 0n, status: 'charged' },
  { holdState: 'captured', charged: 10n, refunded: 1n, status: 'partially_refunded' },
  { holdState: 'captured', charged: 10n, refunded: 9n, status: 'partially_refunded' },
  { holdState: 'captured', charged: 10n, refunded: 10n, status: 'refunded' },
] as const)('$holdState, $charged charged and $refunded given back is $status', ({ status, ...job }) => {
  expect(billingStatus(job)).toBe(status);
});
