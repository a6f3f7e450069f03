import type { JobSummary } from '../../store/store.ts';

/** The public states of a job's price. */
export const billingStatuses = [
  'pending',
  'not_charged',
  'charged',
  'partially_refunded',
  'refunded',
] as const;

export type BillingStatus = (typeof billingStatuses)[number];

/** Returns `pending` while the hold is open. After that the captured and the refunded amount decide. */
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
