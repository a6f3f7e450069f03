import { columns, int64, integer, text, time, type RowOf } from '../columns.ts';
import { read } from '../command.ts';
import { eachOf, onlyOf } from '../statement.ts';
import type { JobKind, JobStatus } from './job-table.ts';
import { isOwed } from './pledges.ts';
import { openStates, paymentStates, type PaymentState } from '../../rules/payments.ts';

const activeFields = {
  kind: text<JobKind>(),
  status: text<JobStatus>(),
  jobs: integer(),
  oldestAt: time(),
  holds: integer(),
  held: int64(),
};
export type ActiveJobs = RowOf<typeof activeFields>;

/** Counts the queued and running jobs with their open holds, for telemetry. A hold is open as long as its job is active. */
export const gaugeActiveJobs = read({
  text: `select j.kind, j.status, count(*) as jobs, min(j.created_at) as oldest_at, count(h.job_id) as holds,
      cast(coalesce(sum(h.amount), 0) as bigint) as held
    from jobs j left join holds h on h.job_id = j.id and h.state = 'open'
    where j.status in ('queued', 'running') group by j.kind, j.status`,
  read: eachOf(columns(activeFields).read),
  isLong: true,
});

/** Counts and sums the jobs that are done and owed, for telemetry. */
export const gaugeOwedJobs = read({
  text: `select count(*) as jobs, cast(coalesce(sum(captured), 0) as bigint) as owed from holds where ${isOwed}`,
  read: onlyOf(columns({ jobs: integer(), owed: int64() }).read),
  isLong: true,
});

/** So many rows are counted, so that a long backlog does not make every scrape slow. */
const countedRows = 10_000;

/** Counts the webhook events that wait, and tells when the first of them was due (0: none waits), for telemetry. */
export const gaugeWebhooks = read({
  text: `select count(*) as events, coalesce(min(next_attempt_at), 0) as due_at
    from (select next_attempt_at from webhook_events where next_attempt_at is not null limit ${countedRows}) as by_due`,
  read: onlyOf(columns({ events: integer(), dueAt: time() }).read),
  isLong: true,
});

/** Counts the payments of each open state, and tells when the oldest was created (0: none is there), for telemetry. */
export const gaugePayments = read({
  text: openStates
    .map(
      (state) => `select '${state}' as state, count(*) as payments, coalesce(min(created_at), 0) as oldest_at
        from (select created_at from payments where state = '${state}' order by created_at, identity
          limit ${countedRows}) as by_${state}`,
    )
    .join(' union all '),
  read: eachOf(columns({ state: text<PaymentState>(), payments: integer(), oldestAt: time() }).read),
  isLong: true,
});

const newestOfState = paymentStates.map(
  (state) => `select max(updated_at) as at from payments where state = '${state}'`,
);

/** Returns a text that is another one when a job, a payment or an operator's change has begun or ended. */
export const readPulse = read({
  text: `select (select max(id) from jobs) as job,
      (select count(*) from jobs where status in ('queued', 'running')) as jobs,
      (select max(at) from (${newestOfState.join(' union all ')}) as by_change) as payment,
      (select concat(id, outcome) from audit_log order by at desc, id desc limit 1) as change`,
  read: onlyOf((row: Record<string, unknown>) => Object.values(row).join(' ')),
});
