import type { JobSummary } from '../store/store.ts';

/** What became of a job's price, as customers read it. */
export const billingStatuses = [
  'pending',
  'not_charged',
  'charged',
  'partially_refunded',
  'refunded',
] as const;

export type BillingStatus = (typeof billingStatuses)[number];

/** `pending` while the hold is open; then by what was captured of it and given back since. */
export const billingStatus = ({
  holdState,
  charged,
  refunded,
}: Pick<JobSummary, 'holdState' | 'charged' | 'refunded'>): BillingStatus => {
  if (holdState === 'open') return 'pending';
  if (charged === 0n) return 'not_charged';
  if (refunded === 0n) return 'charged';
  return refunded < charged ? 'partially_refunded' : 'refunded';
};
