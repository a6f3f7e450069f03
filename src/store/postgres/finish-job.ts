import type { Pool } from './connection.ts';
import { jobColumns, toJob, type JobRow } from '../rows.ts';
import { findJob } from '../statements/jobs.ts';
import { resultMediaColumns, takeReserved } from '../statements/media.ts';
import { newEventColumns, newEventValues } from '../statements/webhooks.ts';
import type { FinishJobInput, FinishJobOutcome } from '../store.ts';
import { prepare, sqlOn, type NamedQuery } from './sql.ts';

/**
 * One statement: every part depends on the compare-and-set on the job, so the loser changes nothing. Rows are locked in
 * the order job, hold, account, as everywhere. The empty string stops the planner from using the indexes on running
 * jobs: they look small to it, but contain all jobs that ended since the last vacuum.
 */
const finishing = (more: string): string => `with j as (
      update jobs set status = $3, result = $4, error = $5, metadata = $6, finished_at = $7, request = '',
        lease_owner = null, lease_until = null
      where id = $1 and status || '' = 'running' and lease_owner = $2
        and exists (select 1 from holds where job_id = $1 and state = 'open')
      returning *
    ), h as (
      update holds set captured = least(holds.amount, $8), ended_at = $7,
        state = case when least(holds.amount, $8) > 0 then 'captured' else 'released' end
      from j where holds.job_id = j.id and holds.state = 'open'
      returning holds.*
    ), account as (
      update accounts set balance = accounts.balance - h.captured, held = accounts.held - h.amount
      from h where accounts.id = h.account_id
      returning accounts.balance - accounts.held as available
    ), debit as (
      insert into ledger_entries (id, account_id, type, amount, job_id, created_at)
      select $9, h.account_id, 'debit', -h.captured, h.job_id, $7 from h where h.captured > 0
    ), inputs as (
      update media set expires_at = $7 from j
      where media.job_id = j.id and media.role = 'input' and media.expires_at > $7
    ) ${more}
    select ${jobColumns}, account.available from j join h on h.job_id = j.id cross join account`;

const finish: NamedQuery = { name: 'finish_job', text: finishing('') };

/** For jobs with media or a webhook; most chats have neither. */
const finishWithMore: NamedQuery = {
  name: 'finish_job_with_more',
  text: finishing(`, files as (
      insert into media (${resultMediaColumns})
      select file.id, file."accountId", file."jobId", file.role, file.position, file."contentType",
        file."sizeBytes", $7, file."expiresAt"
      from j cross join json_to_recordset(cast($10 as json)) as file (
        id text, "accountId" text, "jobId" text, role text, position bigint, "contentType" text,
        "sizeBytes" bigint, "expiresAt" bigint
      )
      ${takeReserved}
    ), event as (
      insert into webhook_events (${newEventColumns})
      select ${newEventValues({ id: '$11', body: '$12', now: '$7' })}
      from j where cast($11 as text) is not null
    )`),
};

const readJob = prepare(findJob);

export const finishJobCommand = (pool: Pool): ((input: FinishJobInput) => Promise<FinishJobOutcome>) => {
  const sql = sqlOn(pool);
  return async (input) => {
    const more = moreValues(input);
    const finished = await sql.get<JobRow & { available: bigint }>(more === null ? finish : finishWithMore, [
      input.id,
      input.owner,
      input.status,
      input.result,
      input.error === null ? null : JSON.stringify(input.error),
      input.metadata,
      input.now,
      input.charge,
      input.entryId,
      ...(more ?? []),
    ]);
    if (finished === undefined) return { outcome: 'lost', job: await readJob(sql, input.id) };
    return { outcome: 'finished', job: toJob(finished), available: finished.available };
  };
};

/** Null if there are no media and no webhook. */
const moreValues = ({ media, webhook }: FinishJobInput): (string | null)[] | null => {
  if (media.length === 0 && webhook === null) return null;
  const files = media.map((file, position) => ({ ...file, position }));
  return [JSON.stringify(files), webhook?.eventId ?? null, webhook?.body ?? null];
};
