import type { DatabaseSync } from 'node:sqlite';
import { findJob } from '../statements/jobs.ts';
import { newEventColumns, newEventValues } from '../statements/webhooks.ts';
import type { FinishJobInput, FinishJobOutcome, Job } from '../store.ts';
import { endHold } from './end-hold.ts';
import { takeResults } from './media-commands.ts';
import { prepare, prepareSql } from './prepare.ts';

export const finishJobCommand = (database: DatabaseSync): ((input: FinishJobInput) => FinishJobOutcome) => {
  const end = prepareSql<{ has_inputs: bigint }>(
    database,
    `update jobs set status = $3, result = $4, error = $5, metadata = $6, finished_at = $7, request = '',
        lease_owner = null, lease_until = null
      where id = $1 and status = 'running' and lease_owner = $2
      returning exists (select 1 from media where job_id = $1 and role = 'input') as has_inputs`,
  );
  const expireInputs = prepareSql(
    database,
    `update media set expires_at = $2 where job_id = $1 and role = 'input' and expires_at > $2`,
  );
  const announce = prepareSql(
    database,
    `insert into webhook_events (${newEventColumns})
      select ${newEventValues({ id: '$2', body: '$3', now: '$4' })} from jobs j where j.id = $1`,
  );
  const take = takeResults(database);
  const releaseOrCapture = endHold(database);
  const find = prepare(database, findJob);
  return (input) => {
    const { id, owner, status, result, error, metadata, webhook, now } = input;
    const errorText = error === null ? null : JSON.stringify(error);
    const ended = end.get(id, owner, status, result, errorText, metadata, now);
    if (ended === undefined) return { outcome: 'lost', job: find(id) };
    const available = releaseOrCapture({ jobId: id, charge: input.charge, entryId: input.entryId, now });
    if (ended.has_inputs === 1n) expireInputs.run(id, now);
    take(input);
    if (webhook !== null) announce.run(id, webhook.eventId, webhook.body, now);
    return { outcome: 'finished', job: present(find(id)), available };
  };
};

const present = (job: Job | null): Job => {
  if (job === null) throw new Error('a job vanished while it was finished');
  return job;
};
