import type { DatabaseSync } from 'node:sqlite';
import { findJob } from '../statements/jobs.ts';
import type { FinishJobInput, FinishJobOutcome, Job } from '../store.ts';
import { endHold } from './end-hold.ts';
import { prepare, prepareSql } from './prepare.ts';

export const finishJobCommand = (database: DatabaseSync): ((input: FinishJobInput) => FinishJobOutcome) => {
  const end = prepareSql<{ id: string }>(
    database,
    `update jobs set status = $3, result = $4, error = $5, metadata = $6, finished_at = $7, request = '',
        lease_owner = null, lease_until = null
      where id = $1 and status = 'running' and lease_owner = $2 returning id`,
  );
  const insertMedia = prepareSql(
    database,
    `insert into media (id, account_id, job_id, content_type, size_bytes, created_at, expires_at)
      values ($1, $2, $3, $4, $5, $6, $7)`,
  );
  const releaseOrCapture = endHold(database);
  const find = prepare(database, findJob);
  return (input) => {
    const { id, owner, status, result, error, metadata, now } = input;
    const errorText = error === null ? null : JSON.stringify(error);
    if (end.get(id, owner, status, result, errorText, metadata, now) === undefined)
      return { outcome: 'lost', job: find(id) };
    const available = releaseOrCapture({ jobId: id, charge: input.charge, entryId: input.entryId, now });
    for (const media of input.media)
      insertMedia.run(
        media.id,
        media.accountId,
        media.jobId,
        media.contentType,
        media.sizeBytes,
        now,
        media.expiresAt,
      );
    return { outcome: 'finished', job: present(find(id)), available };
  };
};

const present = (job: Job | null): Job => {
  if (job === null) throw new Error('a job vanished while it was finished');
  return job;
};
