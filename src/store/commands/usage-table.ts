import type { Nano } from '../../kit/money.ts';
import { statement, valuesOf } from '../statement.ts';
import type { Job, JobEnd } from './job-table.ts';

/** SQL: the day of a job, in whole days since 1970-01-01 UTC. Both engines divide integers to integers. */
export const dayOf = (createdAt: string): string => `${createdAt} / 86400000`;

const sumKey = 'account_id, day, key_id, kind, model, status, tag';

/** SQL: adds rows of ended jobs with the columns `sumKey`, `jobs`, `charged`, `cost` and `uncosted` to the sums. */
export const addToSums = (
  rows: string,
): string => `insert into usage_sums (${sumKey}, jobs, charged, cost, uncosted) ${rows}
  on conflict (${sumKey}) do update set jobs = usage_sums.jobs + excluded.jobs,
    charged = usage_sums.charged + excluded.charged, cost = usage_sums.cost + excluded.cost,
    uncosted = usage_sums.uncosted + excluded.uncosted`;

/** SQL: 1 for a job that was done at an unknown cost, else 0. */
export const isUncosted = (status: string, cost: string): string =>
  `case when ${status} = 'done' and ${cost} is null then 1 else 0 end`;

export type EndedJob = Pick<
  Job,
  'accountId' | 'keyId' | 'kind' | 'model' | 'createdAt' | 'usageTag' | 'charged'
> &
  Pick<JobEnd, 'status'> & { cost: Nano | null };

/** Counts the end of one job. */
export const countEnd = statement({
  text: addToSums(`values ($1, ${dayOf('cast($2 as bigint)')}, $3, $4, $5, $6, coalesce($7, ''), 1, $8,
    coalesce($9, 0), ${isUncosted('$6', '$9')})`),
  values: valuesOf<EndedJob>(
    'accountId',
    'createdAt',
    'keyId',
    'kind',
    'model',
    'status',
    'usageTag',
    'charged',
    'cost',
  ),
});

/** Counts a refund of a job, whose account is locked. */
export const countRefund = statement({
  text: `update usage_sums set refunded = refunded + $2 where (${sumKey}) =
    (select account_id, ${dayOf('created_at')}, key_id, kind, model, status, coalesce(usage_tag, '') from jobs where id = $1)`,
  values: valuesOf<{ jobId: string; amount: Nano }>('jobId', 'amount'),
});
