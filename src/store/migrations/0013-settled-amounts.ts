import type { Engine } from './engine.ts';

/**
 * `settled_amount`: what the settlement of an `upto` payment takes, at most `amount`. Null before its answer is made,
 * and for payments whose whole amount is taken. The index finds failed settlements of answers that were given.
 */
export const settledAmounts = ({ int64 }: Engine): string[] => [
  `alter table payments add column settled_amount ${int64} check (settled_amount between 1 and amount)`,
  `create index payments_failed_upto on payments (updated_at, source)
    where state = 'failed' and settled_amount is not null`,
];
