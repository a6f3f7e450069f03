import type { Engine } from './engine.ts';

/**
 * A job has one payment. Older versions could note two that came at the same moment, and nobody can tell which of them
 * paid: both keep the job, and are marked by `shares_job`, so that `causeway ledger check` and the start name them. A payment
 * whose process died before it noted the job is known by the key that older versions made of it.
 *
 * `client`: the network of the caller of a payment that is settled after the work, to bound what is at risk.
 */
export const paymentClaims = ({ int64, id }: Engine): string[] => [
  `alter table payments add column shares_job ${int64} not null default 0`,
  `update payments set job_id = (
      select min(job_id) from idempotency_keys
      where account_id = payments.account_id and idempotency_key = 'x402:' || payments.identity
    )
    where job_id is null and account_id is not null and state in ('settled', 'delivered')`,
  `update payments set shares_job = 1 where job_id in (
    select job_id from payments where job_id is not null group by job_id having count(*) > 1
  )`,
  `drop index payments_by_job`,
  `create unique index payments_one_per_job on payments (job_id) where job_id is not null and shares_job = 0`,
  `create index payments_sharing_jobs on payments (job_id) where shares_job = 1`,
  `alter table payments add column client ${id}`,
  `create index payments_with_client on payments (updated_at) where client is not null`,
  `create index payments_made_of_source on payments (source) where state in ('settled', 'delivered')`,
];
