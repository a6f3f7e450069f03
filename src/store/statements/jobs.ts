import { jobColumns, mediaColumns, toJob, toMedia, type JobRow, type MediaRow } from '../rows.ts';
import type { Job, Media } from '../store.ts';
import { eachOf, firstOf, type Statement } from './statement.ts';

export const getJob: Statement<{ id: string; accountId: string }, JobRow, Job | null> = {
  name: 'get_job',
  text: () => `select ${jobColumns} from jobs j join holds h on h.job_id = j.id
    where j.id = $1 and j.account_id = $2`,
  values: ({ id, accountId }) => [id, accountId],
  read: firstOf(toJob),
};

/** A job whoever owns it, for commands that answer with the job they changed. */
export const findJob: Statement<string, JobRow, Job | null> = {
  name: 'find_job',
  text: () => `select ${jobColumns} from jobs j join holds h on h.job_id = j.id where j.id = $1`,
  values: (id) => [id],
  read: firstOf(toJob),
};

export const renewLeases: Statement<
  { owner: string; ids: readonly string[]; leaseUntil: number },
  { id: string },
  string[]
> = {
  name: 'renew_leases',
  text: (dialect) => `update jobs set lease_until = $2
    where status = 'running' and lease_owner = $1 and ${dialect.isOneOf('id', '$3')} returning id`,
  values: ({ owner, ids, leaseUntil }) => [owner, leaseUntil, JSON.stringify(ids)],
  read: eachOf(({ id }: { id: string }) => id),
};

export const getMedia: Statement<string, MediaRow, Media | null> = {
  name: 'get_media',
  text: () => `select ${mediaColumns} from media where id = $1`,
  values: (id) => [id],
  read: firstOf(toMedia),
};
