import type { Nano } from '../../kit/money.ts';
import { columns, flag, int64, integer, named, orNull, text, time } from '../columns.ts';
import { inTransaction, run, writeSteps, type Steps } from '../command.ts';
import { firstOf, firstRow, givenRows, statement, valuesOf, type EngineKind } from '../statement.ts';
import { findJob, type EndedFields, type Job, type JobEnd, type JobKind } from './job-table.ts';
import { countCapture, type CountedJob } from './key-budgets.ts';
import type { Media } from './media.ts';
import { addToSums, countEnd, dayOf, isUncosted } from './usage-table.ts';

export interface NewMedia extends Pick<
  Media,
  'id' | 'accountId' | 'role' | 'contentType' | 'sizeBytes' | 'expiresAt'
> {
  jobId: string;
}

export interface FinishJobInput extends JobEnd {
  id: string;
  /** The account of the job. */
  accountId: string;
  owner: string;
  /** Not below zero. */
  charge: Nano;
  /** What the operator pays for it; null: unknown. */
  cost: Nano | null;
  /** Id of the debit entry that is written when the charge is above zero. */
  entryId: string;
  /**
   * Reserved or new media; they get this job and expiry. The job's inputs expire now. Rejects, and changes nothing, if
   * a medium belongs to another account or already has a job.
   */
  media: readonly NewMedia[];
  /** The event that announces the end, due at once; null for jobs without a `webhookUrl`. */
  webhook: { eventId: string; body: string } | null;
  /** The job, if it counts in the budgets of its key (`Job.isBudgeted`). */
  budgeted: CountedJob | null;
}

export type FinishJobOutcome =
  /** `endedJobRecord` makes the job of the input and these fields. `available`: the account's balance less its holds. */
  | ({ outcome: 'finished'; available: Nano } & EndedFields)
  /** The job was not running under this owner; nothing was changed. */
  | { outcome: 'lost'; job: Job | null };

const mediaColumns =
  'id, account_id, job_id, role, position, content_type, size_bytes, created_at, expires_at';

/**
 * Completes a reserved row. A row that already has a job, or belongs to another account, would lose its account here.
 * The table refuses that, so the whole command fails.
 */
const takeReserved = `on conflict (id) do update set
    account_id = case when media.job_id is null and media.account_id = excluded.account_id
      then media.account_id end,
    job_id = excluded.job_id, role = excluded.role, position = excluded.position,
    content_type = excluded.content_type, size_bytes = excluded.size_bytes, expires_at = excluded.expires_at`;

/** The columns of a new event. Their values are `eventValues` of its job `j`. */
const eventColumns = 'id, body, next_attempt_at, created_at, updated_at, account_id, job_id, url, state';

const eventValues = ({ id, body, now }: Record<'id' | 'body' | 'now', string>): string =>
  `${id}, ${body}, ${now}, ${now}, ${now}, j.account_id, j.id, j.webhook_url, 'pending'`;

const endValues = ({ id, owner, status, result, error, metadata, now }: FinishJobInput) => [
  id,
  owner,
  status,
  result,
  error === null ? null : JSON.stringify(error),
  metadata,
  now,
];

const endedFields = { progress: integer(), providerTask: orNull(text()) };
const countedFields = {
  keyId: text(),
  kind: text<JobKind>(),
  model: text(),
  createdAt: time(),
  usageTag: orNull(text()),
};
const finished = columns({ ...endedFields, charged: named('captured', int64()), available: int64() });

/**
 * One statement: every part depends on the compare-and-set on the job, so the loser changes nothing. Rows are locked in
 * the order job, hold, account, as everywhere, and jobs and accounts by their ids. The empty string stops the planner from
 * using the indexes on running jobs: they look small to it, but contain all jobs that ended since the last vacuum.
 */
const finishAtOnce = statement({
  gathers: ({ accountId }: FinishJobInput) => accountId,
  text: `with ${givenRows(`id, owner, status, result, error, metadata, now bigint, charge bigint, cost bigint, entry_id, files, event_id,
      event_body`)}, locked as materialized (
      select jobs.id from given join jobs on jobs.id = given.id
      where jobs.status || '' = 'running' and jobs.lease_owner = given.owner
        and exists (select 1 from holds where job_id = jobs.id and state = 'open')
      order by jobs.id for no key update of jobs
    ), j as (
      update jobs set status = given.status, result = given.result, error = given.error, metadata = given.metadata,
        finished_at = given.now, request = '', lease_owner = null, lease_until = null
      from given join locked on locked.id = given.id
      where jobs.id = given.id and jobs.lease_owner = given.owner
      returning jobs.id, jobs.account_id, jobs.key_id, jobs.kind, jobs.model, jobs.status, jobs.created_at,
        jobs.usage_tag, jobs.webhook_url, jobs.progress, jobs.provider_task, given.now,
        given.charge, given.cost, given.entry_id, given.files, given.event_id, given.event_body, given.position
    ), h as (
      update holds set captured = least(holds.amount, j.charge), ended_at = j.now,
        cost = j.cost, state = case when least(holds.amount, j.charge) > 0 then 'captured' else 'released' end
      from j where holds.job_id = j.id and holds.state = 'open'
      returning holds.job_id, holds.account_id, holds.amount, holds.captured, holds.payment
    ), sums as materialized (
      select account_id, cast(sum(case when payment is null then captured else 0 end) as bigint) as captured,
        cast(sum(case when payment is null then amount else 0 end) as bigint) as amount
      from h group by account_id
    ), payer as materialized (
      select id from accounts where id in (select account_id from sums) order by id for no key update
    ), account as (
      update accounts set balance = balance - sums.captured, held = held - sums.amount
      from sums join payer on payer.id = sums.account_id where accounts.id = sums.account_id
      returning accounts.id, accounts.balance - accounts.held as available
    ), debit as (
      insert into ledger_entries (id, account_id, type, amount, job_id, created_at)
      select j.entry_id, h.account_id, 'debit', -h.captured, j.id, j.now
      from j join h on h.job_id = j.id where h.captured > 0 and h.payment is null
    ), usage as (
      ${addToSums(`select h.account_id, ${dayOf('j.created_at')}, j.key_id, j.kind, j.model, j.status, coalesce(j.usage_tag, ''),
          count(*), cast(sum(h.captured) as bigint), coalesce(cast(sum(j.cost) as bigint), 0),
          sum(${isUncosted('j.status', 'j.cost')})
        from j join h on h.job_id = j.id join account on account.id = h.account_id
        group by 1, 2, 3, 4, 5, 6, 7 order by 1, 2, 3, 4, 5, 6, 7`)}
    ), inputs as (
      update media set expires_at = j.now from j
      where media.job_id = j.id and media.role = 'input' and media.expires_at > j.now
    ), files as (
      insert into media (${mediaColumns})
      select file.id, file."accountId", file."jobId", file.role, file.position, file."contentType",
        file."sizeBytes", j.now, file."expiresAt"
      from j cross join lateral json_to_recordset(cast(j.files as json)) as file (
        id text, "accountId" text, "jobId" text, role text, position bigint, "contentType" text,
        "sizeBytes" bigint, "expiresAt" bigint
      ) where j.files <> '[]'
      ${takeReserved}
    ), event as (
      insert into webhook_events (${eventColumns})
      select ${eventValues({ id: 'j.event_id', body: 'j.event_body', now: 'j.now' })}
      from j where j.event_id is not null
    )
    select j.position, j.progress, j.provider_task, h.captured, account.available
    from j join h on h.job_id = j.id join account on account.id = h.account_id`,
  values: (input: FinishJobInput) => [
    ...endValues(input),
    input.charge,
    input.cost,
    input.entryId,
    JSON.stringify(input.media.map((file, position) => ({ ...file, position }))),
    input.webhook?.eventId ?? null,
    input.webhook?.body ?? null,
  ],
  read: firstOf((row: Record<string, never>): FinishJobOutcome => ({
    outcome: 'finished',
    ...finished.read(row),
  })),
});

const endJob = statement({
  text: `update jobs set status = $3, result = $4, error = $5, metadata = $6, finished_at = $7, request = '',
      lease_owner = null, lease_until = null
    where id = $1 and status = 'running' and lease_owner = $2
    returning progress, provider_task, key_id, kind, model, created_at, usage_tag,
      exists (select 1 from media where job_id = $1 and role = 'input') as has_inputs`,
  values: endValues,
  read: firstOf(columns({ ...endedFields, ...countedFields, hasInputs: flag() }).read),
});

const endHold = statement({
  text: `update holds set captured = min(amount, $2), ended_at = $3,
      cost = $4, state = case when min(amount, $2) > 0 then 'captured' else 'released' end
    where job_id = $1 and state = 'open' returning account_id, amount, captured, payment`,
  values: valuesOf<FinishJobInput>('id', 'charge', 'now', 'cost'),
  read: firstRow<HoldRow>(),
});

interface HoldRow {
  account_id: string;
  amount: Nano;
  captured: Nano;
  /** Pays in place of the balance. */
  payment: string | null;
}

const settleAccount = statement({
  text: `update accounts set balance = balance - $2, held = held - $3 where id = $1
    returning balance - held as available`,
  values: ({ account_id: accountId, amount, captured, payment }: HoldRow) =>
    payment === null ? [accountId, captured, amount] : [accountId, 0n, 0n],
  read: firstRow<{ available: Nano }>(),
});

const insertDebit = statement({
  text: `insert into ledger_entries (id, account_id, type, amount, job_id, created_at)
    values ($1, $2, 'debit', $3, $4, $5)`,
  values: ({ entryId, captured, id, now, ...hold }: FinishJobInput & HoldRow) => [
    entryId,
    hold.account_id,
    -captured,
    id,
    now,
  ],
});

const expireInputs = statement({
  text: `update media set expires_at = $2 where job_id = $1 and role = 'input' and expires_at > $2`,
  values: valuesOf<FinishJobInput>('id', 'now'),
});

const takeResult = statement({
  text: `insert into media (${mediaColumns}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9) ${takeReserved}`,
  values: valuesOf<NewMedia & { position: number; now: number }>(
    'id',
    'accountId',
    'jobId',
    'role',
    'position',
    'contentType',
    'sizeBytes',
    'now',
    'expiresAt',
  ),
});

const insertEvent = statement({
  text: `insert into webhook_events (${eventColumns})
    select ${eventValues({ id: '$2', body: '$3', now: '$4' })} from jobs j where j.id = $1`,
  values: valuesOf<{ id: string; eventId: string; body: string; now: number }>(
    'id',
    'eventId',
    'body',
    'now',
  ),
});

function* finishInSteps(input: FinishJobInput): Steps<FinishJobOutcome | null> {
  const { id, media, webhook, now } = input;
  const ended = yield* run(endJob, input);
  if (ended === null) return null;
  const { progress, providerTask, hasInputs, ...counted } = ended;
  const hold = yield* run(endHold, input);
  if (hold === null) throw new Error(`job ${id} has no open hold`);
  const account = yield* run(settleAccount, hold);
  if (account === null) throw new Error(`job ${id} has no account`);
  if (hold.captured > 0n && hold.payment === null) yield* run(insertDebit, { ...input, ...hold });
  const { account_id: accountId, captured: charged } = hold;
  yield* run(countEnd, { ...counted, accountId, charged, status: input.status, cost: input.cost });
  if (hasInputs) yield* run(expireInputs, input);
  for (const [position, file] of media.entries()) yield* run(takeResult, { ...file, position, now });
  if (webhook !== null) yield* run(insertEvent, { ...webhook, id, now });
  return { outcome: 'finished', progress, providerTask, charged, ...account };
}

const finish = (input: FinishJobInput, kind: EngineKind): Steps<FinishJobOutcome | null> =>
  kind === 'postgres' ? run(finishAtOnce, input) : finishInSteps(input);

function* finishBudgeted(
  input: FinishJobInput & { budgeted: CountedJob },
  kind: EngineKind,
): Steps<FinishJobOutcome | null> {
  const finished = yield* finish(input, kind);
  if (finished?.outcome === 'finished')
    yield* countCapture({ job: input.budgeted, captured: finished.charged, now: input.now });
  return finished;
}

/**
 * Ends a running job held by `owner` in one unit: terminal state, media rows, capture and ledger entry. Captures
 * `charge`, but never more than the hold, and releases the rest.
 */
export const finishJob = writeSteps(function* (input: FinishJobInput, kind): Steps<FinishJobOutcome> {
  const { budgeted } = input;
  const finished = yield* budgeted === null
    ? finish(input, kind)
    : inTransaction(finishBudgeted({ ...input, budgeted }, kind), budgeted.accountId);
  return finished ?? { outcome: 'lost', job: yield* run(findJob, input.id) };
});
