import type { Pool } from './connection.ts';
import { requeuedTurn } from '../new-job-record.ts';
import type { CommandInput, CommandOutput } from '../commands.ts';
import { jobColumns, toJob, type JobRow } from '../rows.ts';
import type { Job } from '../store.ts';
import type { JobAnnouncement } from './open-job.ts';
import { inTransaction, sqlOn, type NamedQuery, type Sql } from './sql.ts';

/** The sum stops the planner from using the index on the deadline. The index on turns needs no sort. */
const claim: NamedQuery = {
  name: 'claim_jobs',
  text: `with due as (
      select id from jobs where status = 'queued' and deadline_at + 0 > $4 and kind = $1
      order by turn, id limit $5 for update skip locked
    ), j as (
      update jobs set status = 'running', attempts = attempts + 1, lease_owner = $2, lease_until = $3,
        started_at = coalesce(started_at, $4)
      from due where jobs.id = due.id returning jobs.*
    )
    select ${jobColumns} from j join holds h on h.job_id = j.id order by j.turn, j.id`,
};

export const claimJobsCommand = (
  pool: Pool,
): ((input: CommandInput<'claimJobs'>) => Promise<CommandOutput<'claimJobs'>>) => {
  const sql = sqlOn(pool);
  return async ({ owner, kind, limit, leaseUntil, now }) =>
    (await sql.all<JobRow>(claim, [kind, owner, leaseUntil, now, limit])).map(toJob);
};

/** Skips jobs that another process is ending now. */
const lapsed: NamedQuery = {
  name: 'reap_lapsed',
  text: `select id, attempts < max_attempts and deadline_at > $1 as may_retry from jobs
    where status = 'running' and lease_until <= $1
    order by lease_until limit $2 for no key update skip locked`,
};

const late: NamedQuery = {
  name: 'reap_late',
  text: `select id, false as may_retry from jobs where status = 'queued' and deadline_at <= $1
    order by deadline_at limit $2 for no key update skip locked`,
};

const requeue: NamedQuery = {
  name: 'reap_requeue',
  text: `update jobs set status = 'queued', lease_owner = null, lease_until = null, turn = ${requeuedTurn} where id = any($1)`,
};

const announce: NamedQuery = { name: 'reap_announce', text: 'select pg_notify($1, $2)' };

const doom: NamedQuery = {
  name: 'reap_doom',
  text: `update jobs set status = 'running', lease_owner = $2, lease_until = $3,
      started_at = coalesce(started_at, $4)
    where id = any($1)`,
};

const readJobs: NamedQuery = {
  name: 'reap_read_jobs',
  text: `select ${jobColumns} from jobs j join holds h on h.job_id = j.id where j.id = any($1)`,
};

interface DeadJobRow {
  id: string;
  may_retry: boolean;
}

export const reapJobsCommand = (
  pool: Pool,
  { channel, sender }: JobAnnouncement,
): ((input: CommandInput<'reapJobs'>) => Promise<CommandOutput<'reapJobs'>>) => {
  const reap = async (
    sql: Sql,
    { owner, leaseUntil, now, limit }: CommandInput<'reapJobs'>,
  ): Promise<CommandOutput<'reapJobs'>> => {
    const dead = await sql.all<DeadJobRow>(lapsed, [now, limit]);
    if (dead.length < limit) dead.push(...(await sql.all<DeadJobRow>(late, [now, limit - dead.length])));
    const retried = dead.filter((job) => job.may_retry).map(({ id }) => id);
    const doomed = dead.filter((job) => !job.may_retry).map(({ id }) => id);
    if (retried.length > 0) {
      await sql.all(requeue, [retried]);
      await sql.all(announce, [channel, sender]);
    }
    if (doomed.length > 0) await sql.all(doom, [doomed, owner, leaseUntil, now]);
    return { requeued: await jobsOf(sql, retried), doomed: await jobsOf(sql, doomed) };
  };
  return (input) => inTransaction(pool, (sql) => reap(sql, input));
};

const jobsOf = async (sql: Sql, ids: string[]): Promise<Job[]> => {
  if (ids.length === 0) return [];
  const rows = await sql.all<JobRow>(readJobs, [ids]);
  const byId = new Map(rows.map((row) => [row.id, toJob(row)]));
  return ids.map((id) => byId.get(id)).filter((job) => job !== undefined);
};
