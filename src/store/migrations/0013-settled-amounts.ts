import type { Engine } from './engine.ts';

/**
 * `settled_amount`: what the settlement of an `upto` payment takes, at most `amount`. Null before its answer is made,
 * and for payments whose whole amount is taken. The index finds failed settlements of answers that were given.
 *
 * `holds.payment`: the payment that pays for the job when it has ended, in place of the balance. `debited`: 0 as long as
 * that has not been settled and debited.
 */
export const settledAmounts = ({ int64, id }: Engine): string[] => [
  `alter table payments add column settled_amount ${int64} check (settled_amount between 1 and amount)`,
  `create index payments_failed_upto on payments (updated_at, source)
    where state = 'failed' and settled_amount is not null`,
  `alter table holds add column payment ${id}`,
  `alter table holds add column debited ${int64} check ((debited is null) = (payment is null))`,
  `create index holds_by_payment on holds (payment) where payment is not null`,
  `create index holds_owed on holds (account_id) where debited = 0 and state = 'captured'`,
];
