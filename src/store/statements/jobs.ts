import { requeuedTurn } from '../new-job-record.ts';
import { jobColumns, toJob, type JobRow } from '../rows.ts';
import type { CommandInput } from '../commands.ts';
import type { Job } from '../store.ts';
import { eachOf, firstOf, type Statement } from './statement.ts';

export const getJob: Statement<{ id: string; accountId: string }, JobRow, Job | null> = {
  name: 'get_job',
  text: () => `select ${jobColumns} from jobs j join holds h on h.job_id = j.id
    where j.id = $1 and j.account_id = $2`,
  values: ({ id, accountId }) => [id, accountId],
  read: firstOf(toJob),
};

/** Reads a job of any account, for commands that return the job they changed. */
export const findJob: Statement<string, JobRow, Job | null> = {
  name: 'find_job',
  text: () => `select ${jobColumns} from jobs j join holds h on h.job_id = j.id where j.id = $1`,
  values: (id) => [id],
  read: firstOf(toJob),
};

/** Counts the jobs of a kind that are queued or running in an account. */
export const countActive: Statement<{ accountId: string; kind: string }, { active: bigint }, number> = {
  name: 'count_active_jobs',
  text: () => `select count(*) as active from jobs
    where account_id = $1 and kind = $2 and status in ('queued', 'running')`,
  values: ({ accountId, kind }) => [accountId, kind],
  read: ([row]) => Number(row?.active ?? 0n),
};

/** Finds rows by their ids. For the empty string see `finishing` of PostgreSQL. */
export const renewLeases: Statement<CommandInput<'renewLeases'>, { id: string }, string[]> = {
  name: 'renew_leases',
  text: (dialect) => `update jobs set lease_until = $2
    where status || '' = 'running' and lease_owner = $1 and ${dialect.isOneOf('id', '$3')} returning id`,
  values: ({ owner, ids, leaseUntil }) => [owner, leaseUntil, JSON.stringify(ids)],
  read: eachOf(({ id }: { id: string }) => id),
};

/** As `renewLeases`. */
export const releaseJobs: Statement<CommandInput<'releaseJobs'>, { id: string }, string[]> = {
  name: 'release_jobs',
  text: (dialect) => `update jobs set status = 'queued', lease_owner = null, lease_until = null,
      turn = ${requeuedTurn}
    where status || '' = 'running' and lease_owner = $1 and attempts < max_attempts
      and ${dialect.isOneOf('id', '$2')} returning id`,
  values: ({ owner, ids }) => [owner, JSON.stringify(ids)],
  read: eachOf(({ id }: { id: string }) => id),
};

/** As `renewLeases`. */
export const recordProgress: Statement<CommandInput<'recordProgress'>, { id: string }, boolean> = {
  name: 'record_progress',
  text: () => `update jobs set progress = coalesce(cast($3 as bigint), progress),
      provider_task = coalesce(cast($4 as text), provider_task)
    where id = $1 and status || '' = 'running' and lease_owner = $2 returning id`,
  values: ({ id, owner, progress, providerTask }) => [id, owner, progress ?? null, providerTask ?? null],
  read: (rows) => rows.length > 0,
};
