import { columns, int64, integer, text, type RowOf } from '../columns.ts';
import { read, run, write, writeSteps, writeTransaction, type Steps } from '../command.ts';
import {
  countRows,
  eachOf,
  firstOf,
  hasRows,
  onlyOf,
  statement,
  valuesOf,
  type Dialect,
} from '../statement.ts';
import { pageValues, type Page } from './history-page.ts';
import {
  findJob,
  jobColumns,
  paidOfHold,
  summaryColumns,
  toJob,
  toSummary,
  type Job,
  type JobKind,
} from './job-table.ts';

export const getJob = read({
  text: `select ${jobColumns} from jobs j join holds h on h.job_id = j.id
    where j.id = $1 and j.account_id = $2`,
  values: valuesOf<{ id: string; accountId: string }>('id', 'accountId'),
  read: firstOf(toJob),
});

/** Lists jobs by `createdAt`, then id, both descending, after the position `before`. */
export const listJobs = read({
  text: `select ${summaryColumns} from jobs j join holds h on h.job_id = j.id
    where j.account_id = $1 and (j.created_at, j.id) < ($2, $3)
    order by j.created_at desc, j.id desc limit $4`,
  values: (page: Page) => pageValues(page),
  read: eachOf(toSummary),
});

export const countActiveJobs = read({
  text: `select count(*) as active from jobs
    where account_id = $1 and kind = $2 and status in ('queued', 'running')`,
  values: valuesOf<{ accountId: string; kind: JobKind }>('accountId', 'kind'),
  read: onlyOf(({ active }: { active: bigint }) => Number(active)),
});

const toolSumFields = {
  /** The public name of the tool. */
  model: text(),
  calls: integer(),
  errors: integer(),
  p50Ms: integer(),
  p95Ms: integer(),
  /** Without what was refunded, and without what is still owed. */
  income: int64(),
  /** What was paid for them by x402, and how much of it for calls that nobody paid. */
  cost: int64(),
  loss: int64(),
};
/** Sum of the calls of one mounted tool that have ended. */
export type ToolSum = RowOf<typeof toolSumFields>;

/**
 * Sums up calls of mounted tools from `from` (inclusive) to `to` (exclusive). No text of a tool is in the metadata of its
 * jobs. A percentile is the nearest rank.
 */
export const sumToolCalls = read({
  isLong: true,
  text: `select model, count(*) as calls, sum(failed) as errors,
      min(case when place * 100 >= calls * 50 then took end) as p50_ms,
      min(case when place * 100 >= calls * 95 then took end) as p95_ms, cast(sum(paid) as bigint) as income,
      cast(sum(cost) as bigint) as cost, cast(sum(case when paid = 0 then cost else 0 end) as bigint) as loss
    from (select j.model, j.finished_at - j.created_at as took, ${paidOfHold} as paid,
        case when j.status = 'failed' or j.metadata like '%"isError":true%' then 1 else 0 end as failed,
        (select cast(coalesce(sum(b.price), 0) as bigint) from bought_payments b
          where b.job_id = j.id and b.state <> 'unused') as cost,
        row_number() over (partition by j.model order by j.finished_at - j.created_at) as place,
        count(*) over (partition by j.model) as calls
      from jobs j join holds h on h.job_id = j.id
      where j.kind = 'tool' and j.created_at >= $1 and j.created_at < $2 and j.finished_at is not null) ended
    group by model order by model limit 2000`,
  values: valuesOf<{ from: number; to: number }>('from', 'to'),
  read: eachOf(columns(toolSumFields).read),
});

const toId = ({ id }: { id: string }): string => id;

interface HeldJobs {
  owner: string;
  ids: readonly string[];
}

/** Locks the running jobs of the owner `$1` that are one of `ids`, in the order of `finishJob`. */
const heldJobs = ({ isOneOf, lockRows }: Dialect, ids: string): string => `with held as (
    select id from jobs where status || '' = 'running' and lease_owner = $1 and ${isOneOf('id', ids)}
    order by id ${lockRows}
  )`;

/**
 * Extends the leases of running jobs held by `owner`. Returns the ids it still holds. An expired lease is held until the
 * job is reaped. Finds rows by their ids; for the empty string see `finishJob`.
 */
export const renewLeases = write({
  text: (dialect) => `${heldJobs(dialect, '$3')}
    update jobs set lease_until = $2 where id in (select id from held) returning id`,
  values: valuesOf<HeldJobs & { leaseUntil: number }>('owner', 'leaseUntil', 'ids'),
  read: eachOf(toId),
});

/** Queues a job again. Its turn is its earlier one, or its creation if it was never queued. */
const queueAgain = `update jobs set status = 'queued', lease_owner = null, lease_until = null,
    turn = coalesce(turn, created_at)`;

/** Queues running jobs of `owner` again if they have attempts left. Returns their ids. Any process may claim them. */
export const releaseJobs = write({
  text: (dialect) => `${heldJobs(dialect, '$2')}
    ${queueAgain} where id in (select id from held) and attempts < max_attempts returning id`,
  values: valuesOf<HeldJobs>('owner', 'ids'),
  read: eachOf(toId),
});

/**
 * Queues a running job of `owner` again that no upstream took, as if it had not been claimed. False if `owner` does not
 * hold it.
 */
export const returnJob = write({
  text: `${queueAgain}, attempts = attempts - 1, provider_task = null
    where id = $1 and status || '' = 'running' and lease_owner = $2 returning id`,
  values: valuesOf<{ id: string; owner: string }>('id', 'owner'),
  read: hasRows,
});

interface Progress {
  id: string;
  owner: string;
  progress?: number;
  providerTask?: string;
}

/** Stores the progress of a running job. Absent fields stay. False if `owner` does not hold the job. */
export const recordProgress = write({
  text: `update jobs set progress = coalesce(cast($3 as bigint), progress),
      provider_task = coalesce(cast($4 as text), provider_task)
    where id = $1 and status || '' = 'running' and lease_owner = $2 returning id`,
  values: valuesOf<Progress>('id', 'owner', 'progress', 'providerTask'),
  read: hasRows,
});

interface Claim {
  owner: string;
  kind: JobKind;
  limit: number;
  leaseUntil: number;
  now: number;
  /** The SKUs of jobs without a task upstream. Default: all. */
  skus?: readonly string[];
  /** Accounts of which only jobs with a task upstream are claimed. */
  fullAccounts?: readonly string[];
  /** The providers of jobs with a task upstream. Default: all. */
  providers?: readonly string[];
}

/**
 * `first`: the number of the first of three parameters. A task that may not have begun names no provider. PostgreSQL
 * refuses JSON whose texts have characters that it cannot store, and an upstream may name its task by any.
 */
const isClaimable = ({ kind, isOneOf }: Dialect, first: number): string => {
  const provider =
    kind === 'sqlite'
      ? `provider_task ->> 'provider'`
      : `substring(provider_task from '"provider":"([^"]*)"')`;
  return `case when provider_task is null
      then (cast($${first} as text) is null or ${isOneOf('model', `$${first}`)}) and not ${isOneOf('account_id', `$${first + 1}`)}
      else cast($${first + 2} as text) is null or ${provider} is null or ${isOneOf(`(${provider})`, `$${first + 2}`)} end`;
};

/** The sum stops the planner from using the index on the deadline. The index on turns needs no sort. */
const claimAtOnce = statement({
  text: (dialect) => `with due as (
      select id from jobs where status = 'queued' and deadline_at + 0 > $4 and kind = $1
        and ${isClaimable(dialect, 6)}
      order by turn, id limit $5 for update skip locked
    ), j as (
      update jobs set status = 'running', attempts = attempts + 1, lease_owner = $2, lease_until = $3,
        started_at = coalesce(started_at, $4)
      from due where jobs.id = due.id returning jobs.*
    )
    select ${jobColumns} from j join holds h on h.job_id = j.id order by j.turn, j.id`,
  values: valuesOf<Claim>('kind', 'owner', 'leaseUntil', 'now', 'limit', 'skus', 'fullAccounts', 'providers'),
  read: eachOf(toJob),
});

/** As `claimAtOnce`. */
const findQueued = statement({
  text: (dialect) => `select id from jobs where status = 'queued' and +deadline_at > $2 and kind = $1
      and ${isClaimable(dialect, 4)}
    order by turn, id limit $3`,
  values: valuesOf<Claim>('kind', 'now', 'limit', 'skus', 'fullAccounts', 'providers'),
  read: eachOf(toId),
});

/** Puts jobs under a lease, and counts `attempts` more. */
const leaseJobs = statement({
  text: ({ isOneOf }) => `update jobs set status = 'running', attempts = attempts + $5, lease_owner = $2,
      lease_until = $3, started_at = coalesce(started_at, $4)
    where ${isOneOf('id', '$1')}`,
  values: valuesOf<HeldJobs & Lease>('ids', 'owner', 'leaseUntil', 'now', 'attempts'),
});

interface Lease {
  leaseUntil: number;
  now: number;
  attempts: 0 | 1;
}

const findJobs = statement({
  text: ({ isOneOf }) => `select ${jobColumns} from jobs j join holds h on h.job_id = j.id
    where ${isOneOf('j.id', '$1')}`,
  values: (ids: readonly string[]) => [JSON.stringify(ids)],
  read: eachOf(toJob),
});

function* readJobs(ids: readonly string[]): Steps<Job[]> {
  if (ids.length === 0) return [];
  const jobs = new Map((yield* run(findJobs, ids)).map((job) => [job.id, job]));
  return ids.map((id) => jobs.get(id)).filter((job) => job !== undefined);
}

/** Leases queued jobs before their deadline. Accounts take turns; the oldest job of an account comes first. */
export const claimJobs = writeSteps(function* (input: Claim, kind) {
  if (kind === 'postgres') return yield* run(claimAtOnce, input);
  const ids = yield* run(findQueued, input);
  if (ids.length > 0) yield* run(leaseJobs, { ...input, ids, attempts: 1 });
  return yield* readJobs(ids);
});

interface Withdrawal {
  id: string;
  accountId: string;
  owner: string;
  leaseUntil: number;
}

/** For the empty string see `finishJob`. */
const withdraw = statement({
  text: `update jobs set status = 'running', lease_owner = $3, lease_until = $4
    where id = $1 and account_id = $2 and status || '' = 'queued' and attempts = 0 returning id`,
  values: valuesOf<Withdrawal>('id', 'accountId', 'owner', 'leaseUntil'),
  read: hasRows,
});

/**
 * Takes a job of the account out of the queue: it becomes `running` under the caller's lease, who ends it as failed. If
 * the caller dies, the job is queued again. Null, and nothing changed, for a job that has begun or ended. A job that was
 * queued again after a start has begun: its upstream may be at work.
 */
export const withdrawJob = writeSteps(function* (input: Withdrawal): Steps<Job | null> {
  return (yield* run(withdraw, input)) ? yield* run(findJob, input.id) : null;
});

interface Reaping {
  owner: string;
  leaseUntil: number;
  now: number;
  limit: number;
}

/** Skips jobs that another process is ending now. */
const findLapsed = statement({
  text: ({ lockFreeRows }) => `select id, attempts < max_attempts and deadline_at > $1 as may_retry from jobs
    where status = 'running' and lease_until <= $1
    order by lease_until limit $2 ${lockFreeRows}`,
  values: valuesOf<Reaping>('now', 'limit'),
  read: eachOf((row: { id: string; may_retry: bigint | boolean }) => ({
    id: row.id,
    mayRetry: Boolean(row.may_retry),
  })),
});

const findLate = statement({
  text: ({ lockFreeRows }) => `select id from jobs where status = 'queued' and deadline_at <= $1
    order by deadline_at limit $2 ${lockFreeRows}`,
  values: valuesOf<Reaping>('now', 'limit'),
  read: eachOf(toId),
});

const requeue = statement({
  text: ({ isOneOf }) => `${queueAgain} where ${isOneOf('id', '$1')}`,
  values: (ids: readonly string[]) => [JSON.stringify(ids)],
});

const announce = statement({
  only: 'postgres',
  text: 'select pg_notify($1, $2)',
  values: (_, { channel, sender }) => [channel, sender],
});

/**
 * Finds dead jobs, at most `limit` a call. A running job whose lease expired is queued again if it has attempts left and
 * its deadline has not passed. Other such jobs, and queued jobs past their deadline, become `running` under the caller's
 * lease (`doomed`); the caller then ends them as failed. Holds stay.
 */
export const reapJobs = writeTransaction(
  function* (input: Reaping) {
    const lapsed = yield* run(findLapsed, input);
    const left = input.limit - lapsed.length;
    const late = left > 0 ? yield* run(findLate, { ...input, limit: left }) : [];
    const retried = lapsed.filter(({ mayRetry }) => mayRetry).map(toId);
    const doomed = [...lapsed.filter(({ mayRetry }) => !mayRetry).map(toId), ...late];
    if (retried.length > 0) {
      yield* run(requeue, retried);
      yield* run(announce, undefined);
    }
    if (doomed.length > 0) yield* run(leaseJobs, { ...input, ids: doomed, attempts: 0 });
    return { requeued: yield* readJobs(retried), doomed: yield* readJobs(doomed) };
  },
  { queuesJobs: ({ requeued }) => requeued.length > 0 },
);

/**
 * Deletes up to `limit` results of searches, which name people, and of tools, which may be large, that ended before
 * `endedBefore`. Returns how many.
 */
export const forgetResults = write({
  text: ({ lockFreeRows }) => `with over as (
      select id from jobs where kind in ('search', 'tool') and result is not null and finished_at < $1
      order by finished_at limit $2 ${lockFreeRows}
    )
    update jobs set result = null where id in (select id from over) returning 1 as removed`,
  values: valuesOf<{ endedBefore: number; limit: number }>('endedBefore', 'limit'),
  read: countRows,
});
