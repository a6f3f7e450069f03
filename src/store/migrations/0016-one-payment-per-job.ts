import type { Engine } from './engine.ts';

/**
 * A job has one payment. Older versions could note two that came at the same moment, and which of them paid is not told:
 * both keep the job, and are marked by `shares_job` (`causeway ledger check` names them).
 */
export const onePaymentPerJob = ({ int64 }: Engine): string[] => [
  `alter table payments add column shares_job ${int64} not null default 0`,
  `update payments set shares_job = 1 where job_id in (
    select job_id from payments where job_id is not null group by job_id having count(*) > 1
  )`,
  `drop index payments_by_job`,
  `create unique index payments_one_per_job on payments (job_id) where job_id is not null and shares_job = 0`,
];
