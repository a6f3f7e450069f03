import type { DatabaseSync } from 'node:sqlite';
import { findJob } from '../statements/jobs.ts';
import { requeuedTurn } from '../new-job-record.ts';
import type { CommandInput, CommandOutput } from '../commands.ts';
import type { Job } from '../store.ts';
import { prepare, prepareSql } from './prepare.ts';

export const claimJobsCommand = (
  database: DatabaseSync,
): ((input: CommandInput<'claimJobs'>) => CommandOutput<'claimJobs'>) => {
  const due = prepareSql<{ id: string }>(
    database,
    // The plus stops SQLite from using the index on the deadline. The index on turns needs no sort.
    `select id from jobs where status = 'queued' and +deadline_at > $2
        and kind = $1
      order by turn, id limit $3`,
  );
  const start = prepareSql(
    database,
    `update jobs set status = 'running', attempts = attempts + 1, lease_owner = $2, lease_until = $3,
        started_at = coalesce(started_at, $4)
      where id = $1`,
  );
  const find = prepare(database, findJob);
  return ({ owner, kind, limit, leaseUntil, now }) => {
    const ids = due.all(kind, now, limit).map(({ id }) => id);
    for (const id of ids) start.run(id, owner, leaseUntil, now);
    return ids.map(find).filter((job) => job !== null);
  };
};

interface DeadJobRow {
  id: string;
  may_retry: bigint;
}

export const reapJobsCommand = (
  database: DatabaseSync,
): ((input: CommandInput<'reapJobs'>) => CommandOutput<'reapJobs'>) => {
  const lapsed = prepareSql<DeadJobRow>(
    database,
    `select id, attempts < max_attempts and deadline_at > $1 as may_retry from jobs
      where status = 'running' and lease_until <= $1 order by lease_until limit $2`,
  );
  const late = prepareSql<DeadJobRow>(
    database,
    `select id, 0 as may_retry from jobs where status = 'queued' and deadline_at <= $1
      order by deadline_at limit $2`,
  );
  const requeue = prepareSql(
    database,
    `update jobs set status = 'queued', lease_owner = null, lease_until = null, turn = ${requeuedTurn} where id = $1`,
  );
  const doom = prepareSql(
    database,
    `update jobs set status = 'running', lease_owner = $2, lease_until = $3,
        started_at = coalesce(started_at, $4)
      where id = $1`,
  );
  const find = prepare(database, findJob);
  const readAll = (ids: string[]): Job[] => ids.map(find).filter((job) => job !== null);

  return ({ owner, leaseUntil, now, limit }) => {
    const dead = lapsed.all(now, limit);
    dead.push(...late.all(now, limit - dead.length));
    const requeued: string[] = [];
    const doomed: string[] = [];
    for (const { id, may_retry: mayRetry } of dead) {
      if (mayRetry === 1n) {
        requeue.run(id);
        requeued.push(id);
      } else {
        doom.run(id, owner, leaseUntil, now);
        doomed.push(id);
      }
    }
    return { requeued: readAll(requeued), doomed: readAll(doomed) };
  };
};
