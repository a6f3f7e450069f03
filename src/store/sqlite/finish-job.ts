import type { DatabaseSync } from 'node:sqlite';
import { findJob } from '../statements/jobs.ts';
import { resultMediaColumns, takeReserved } from '../statements/media.ts';
import { newEventColumns, newEventValues } from '../statements/webhooks.ts';
import type { FinishJobInput, FinishJobOutcome, Job } from '../store.ts';
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

interface EndHoldInput {
  jobId: string;
  /** Not below zero. A smaller hold limits it. */
  charge: bigint;
  /** Id of the debit entry, if something is charged. */
  entryId: string | null;
  now: number;
}

/** Ends a job's open hold: captures the charge, releases the rest, writes the debit. Returns the new available balance. */
const endHold = (database: DatabaseSync): ((input: EndHoldInput) => bigint) => {
  const end = prepareSql<{ account_id: string; amount: bigint; captured: bigint }>(
    database,
    `update holds set captured = min(amount, $2), ended_at = $3,
        state = case when min(amount, $2) > 0 then 'captured' else 'released' end
      where job_id = $1 and state = 'open' returning account_id, amount, captured`,
  );
  const settle = prepareSql<{ available: bigint }>(
    database,
    `update accounts set balance = balance - $2, held = held - $3 where id = $1
      returning balance - held as available`,
  );
  const debit = prepareSql(
    database,
    `insert into ledger_entries (id, account_id, type, amount, job_id, created_at)
      values ($1, $2, 'debit', $3, $4, $5)`,
  );
  return ({ jobId, charge, entryId, now }) => {
    const hold = end.get(jobId, charge, now);
    if (hold === undefined) throw new Error(`job ${jobId} has no open hold`);
    const account = settle.get(hold.account_id, hold.captured, hold.amount);
    if (account === undefined) throw new Error(`job ${jobId} has no account`);
    if (hold.captured > 0n) debit.run(entryId, hold.account_id, -hold.captured, jobId, now);
    return account.available;
  };
};

/** Attaches results to a job, reserved or new. */
const takeResults = (database: DatabaseSync): ((input: Pick<FinishJobInput, 'media' | 'now'>) => void) => {
  const take = prepareSql(
    database,
    `insert into media (${resultMediaColumns}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9) ${takeReserved}`,
  );
  return ({ media, now }) => {
    for (const [
      position,
      { id, accountId, jobId, role, contentType, sizeBytes, expiresAt },
    ] of media.entries())
      take.run(id, accountId, jobId, role, position, contentType, sizeBytes, now, expiresAt);
  };
};
