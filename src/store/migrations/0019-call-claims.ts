import type { Engine } from './engine.ts';

/**
 * `call_claim`: operation and idempotency key of the call for which a payment is about to be settled, until the job is
 * opened. So of two payments for one call that come at the same moment, one is settled.
 */
export const callClaims = ({ id }: Engine): string[] => [
  `alter table payments add column call_claim ${id}`,
  `create unique index payments_one_per_call on payments (account_id, call_claim) where call_claim is not null`,
];
