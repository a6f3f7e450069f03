import type { DatabaseSync } from 'node:sqlite';
import { jobColumns, toJob, type JobRow } from '../rows.ts';
import { findJob } from '../statements/jobs.ts';
import type { CommandInput, CommandOutput } from '../commands.ts';
import type { Job } from '../store.ts';
import { endHold } from './end-hold.ts';
import { prepare, prepareSql } from './prepare.ts';

export const claimJobsCommand = (
  database: DatabaseSync,
): ((input: CommandInput<'claimJobs'>) => CommandOutput<'claimJobs'>) => {
  const due = prepareSql<{ id: string }>(
    database,
    // The plus keeps the index on the deadline out of it: the one in the order of age needs no sort.
    `select id from jobs where status = 'queued' and +deadline_at > $2
        and kind in (select value from json_each($1))
      order by created_at, id limit $3`,
  );
  const start = prepareSql(
    database,
    `update jobs set status = 'running', attempts = attempts + 1, lease_owner = $2, lease_until = $3,
        started_at = coalesce(started_at, $4)
      where id = $1`,
  );
  const find = prepare(database, findJob);
  return ({ owner, kinds, limit, leaseUntil, now }) => {
    const ids = due.all(JSON.stringify(kinds), now, limit).map(({ id }) => id);
    for (const id of ids) start.run(id, owner, leaseUntil, now);
    return ids.map(find).filter((job) => job !== null);
  };
};

export const reapJobsCommand = (
  database: DatabaseSync,
): ((input: CommandInput<'reapJobs'>) => CommandOutput<'reapJobs'>) => {
  const lapsed = prepareSql<JobRow>(
    database,
    `select ${jobColumns} from jobs j join holds h on h.job_id = j.id
      where j.status = 'running' and j.lease_until <= $1 order by j.lease_until limit $2`,
  );
  const late = prepareSql<JobRow>(
    database,
    `select ${jobColumns} from jobs j join holds h on h.job_id = j.id
      where j.status = 'queued' and j.deadline_at <= $1 order by j.deadline_at limit $2`,
  );
  const requeue = prepareSql(
    database,
    `update jobs set status = 'queued', lease_owner = null, lease_until = null where id = $1`,
  );
  const fail = prepareSql(
    database,
    `update jobs set status = 'failed', error = $2, finished_at = $3, request = '',
        lease_owner = null, lease_until = null
      where id = $1`,
  );
  const release = endHold(database);
  const find = prepare(database, findJob);
  const readAll = (ids: string[]): Job[] => ids.map(find).filter((job) => job !== null);

  return ({ now, limit, error }) => {
    const dead = lapsed.all(now, limit);
    dead.push(...late.all(now, limit - dead.length));
    const requeued: string[] = [];
    const failed: string[] = [];
    for (const job of dead.map(toJob)) {
      if (job.status === 'running' && job.attempts < job.maxAttempts && job.deadlineAt > now) {
        requeue.run(job.id);
        requeued.push(job.id);
      } else {
        fail.run(job.id, JSON.stringify(error), now);
        release({ jobId: job.id, charge: 0n, entryId: null, now });
        failed.push(job.id);
      }
    }
    return { requeued: readAll(requeued), failed: readAll(failed) };
  };
};
