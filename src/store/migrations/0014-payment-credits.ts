import type { Engine } from './engine.ts';

/**
 * `ledger_entries.payment`: the payment that an entry comes from. `payments.credited`: the sum of these entries.
 * `payments.job_id`: the job that a payment of one call paid for.
 */
export const paymentCredits = ({ int64, id }: Engine): string[] => [
  `alter table ledger_entries add column payment ${id}`,
  `create index ledger_entries_of_payments on ledger_entries (payment) where payment is not null`,
  `alter table payments add column credited ${int64} not null default 0 check (credited >= 0)`,
  `alter table payments add column job_id ${id} references jobs (id)`,
  `create index payments_by_job on payments (job_id) where job_id is not null`,
  `create index payments_by_payer on payments (lower(payer), created_at desc, identity desc)
    where payer is not null and credit is null`,
];
