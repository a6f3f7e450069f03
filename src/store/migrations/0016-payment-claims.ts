import type { Engine } from './engine.ts';

/**
 * A job has one payment. Older versions could note two that came at the same moment, and nobody can tell which of them
 * paid: both keep the job, and are marked by `shares_job`, so that `causeway ledger check` and the start name them.
 */
export const paymentClaims = ({ int64 }: Engine): string[] => [
  `alter table payments add column shares_job ${int64} not null default 0`,
  `update payments set shares_job = 1 where job_id in (
    select job_id from payments where job_id is not null group by job_id having count(*) > 1
  )`,
  `drop index payments_by_job`,
  `create unique index payments_one_per_job on payments (job_id) where job_id is not null and shares_job = 0`,
  `create index payments_sharing_jobs on payments (job_id) where shares_job = 1`,
];
