import type { Nano } from '../../kit/money.ts';
import {
  inTransaction,
  readSteps,
  run,
  sweepExpired,
  unlessRaced,
  writeSteps,
  type Steps,
} from '../command.ts';
import {
  countRows,
  firstOf,
  givenRows,
  hasRows,
  statement,
  valuesOf,
  type EngineKind,
  type SqlValue,
} from '../statement.ts';
import { claimJob, findEarlier, type Claimed } from './earlier-job.ts';
import { lockAccount } from './ledger-table.ts';
import { newJobRecord, newJobs, type Job, type JobPayment, type NewJob } from './job-table.ts';
import { countActiveJobs } from './jobs.ts';
import { countHold } from './key-budgets.ts';
import { listCountedKeys } from './keys.ts';
import { pledgeHold } from './pledges.ts';
import { shortBudget, type Budget } from '../../rules/key-limits.ts';
import type { PaymentState } from '../../rules/payments.ts';

export interface OpenJobInput {
  job: NewJob;
  /** The worst-case price; zero for a job that the balance does not pay. */
  hold: Nano;
  /** Absent: none. */
  payment?: JobPayment | null;
  idempotency: { endpoint: string; key: string; bodyHash: string; expiresAt: number } | null;
  /** Maximum number of queued and running jobs of this kind in the account, with this one; null for no limit. */
  activeLimit: number | null;
  /** Ids of reserved media that become the job's inputs. They expire with the job's end, or a day after its deadline. */
  inputs: readonly string[];
  /** The hash of a call that needs a confirmation by a person, which this job uses up. Default: it needs none. */
  needsConfirmed?: string | null;
  now: number;
}

export type OpenJobOutcome =
  /** `newJobRecord` makes the job of the input. */
  | { outcome: 'opened'; available: Nano }
  /** The payment, or the idempotency key with the same body, came before; `job` is the job of that time. */
  | { outcome: 'replayed'; job: Job; available: Nano }
  /** The same idempotency key came with another body before. */
  | { outcome: 'conflict' }
  /** The job of the idempotency key is not paid; or the payment pays for nothing, as it was given back. */
  | { outcome: 'unsettled' }
  /** The balance does not cover the hold; or `budget`, a budget of the key, of which `available` is left. */
  | { outcome: 'insufficient'; available: Nano; budget?: Budget }
  | { outcome: 'too_many_active'; active: number }
  /** No person has confirmed the call at this price. */
  | { outcome: 'unconfirmed' }
  /** The key was revoked, or the account is not active. */
  | { outcome: 'forbidden' };

/** A queued job waits this much longer for each queued job of the same account and kind. */
const turnMs = 60_000;

/**
 * SQL for the time of a queued job's turn, with the parameters of `jobValues`: now, or one step after the account's last
 * queued job. So accounts take turns, and an account with a thousand jobs does not delay the others.
 */
const turn = `case when $6 = 'queued' then (
    select max(turn) from (
      select $12 as turn union all
      select max(turn) + ${turnMs} from jobs where account_id = $2 and kind = $4 and status = 'queued'
    ) as turns
  ) end`;

/** As `turn`, for each of the given jobs. */
const turnOfGiven = `case when g.status = 'queued' then (
    select greatest(g.created_at, max(turn) + ${turnMs}) from jobs
    where account_id = g.account_id and kind = g.kind and status = 'queued'
  ) + ${turnMs} * (row_number() over (partition by g.account_id, g.kind, g.status order by g.position) - 1) end`;

const jobValues = (input: OpenJobInput): SqlValue[] => newJobs.values(newJobRecord(input));

const toAvailable = ({ available }: { available: Nano }): Nano => available;

/**
 * The usual case in one statement, which admits the jobs of an account together or not at all. The newest balances are
 * tested, because the accounts are locked first, in one order for all processes. Returns no row for a job that cannot be
 * admitted for any reason. If another process claims an idempotency key at the same moment, a unique violation undoes the
 * whole statement. The key is looked up by itself, because in a join the planner would read all keys.
 */
const admitAtOnce = statement({
  gathers: ({ job }: OpenJobInput) => job.accountId,
  text: `with ${givenRows(`${newJobs.typed()}, hold bigint, endpoint, idempotency_key, body_hash,
      key_expires_at bigint, channel, sender`)}, sound as materialized (
      select * from given
      where account_id = (select k.account_id from api_keys k where k.id = key_id and k.revoked_at is null)
        and not exists (
          select 1 from idempotency_keys i where i.account_id = given.account_id and i.endpoint = given.endpoint
            and i.idempotency_key = given.idempotency_key
        )
    ), needed as materialized (
      select account_id, cast(sum(hold) as bigint) as hold from sound group by account_id
    ), locked as materialized (
      select id from accounts where id in (select account_id from needed) order by id for no key update
    ), account as (
      update accounts set held = held + needed.hold
      from needed join locked on locked.id = needed.account_id
      where accounts.id = needed.account_id and status = 'active' and balance - held >= needed.hold
      returning accounts.id, balance - held as available
    ), g as materialized (
      select sound.*, account.available from sound join account on account.id = sound.account_id
    ), job as (
      insert into jobs (${newJobs.list()}, turn)
      select ${newJobs.list()}, ${turnOfGiven} from g
    ), hold as (
      insert into holds (job_id, account_id, amount, state, expires_at)
      select id, account_id, hold, 'open', deadline_at from g
    ), claim as (
      insert into idempotency_keys (account_id, endpoint, idempotency_key, body_hash, job_id, expires_at)
      select account_id, endpoint, idempotency_key, body_hash, id, key_expires_at from g
      where idempotency_key is not null
    ), notice as (
      select count(pg_notify(channel, sender)) from g where status = 'queued'
    )
    select g.position, g.available from g cross join notice`,
  values: (input: OpenJobInput, { channel, sender }) => [
    ...jobValues(input),
    input.hold,
    input.idempotency?.endpoint ?? null,
    input.idempotency?.key ?? null,
    input.idempotency?.bodyHash ?? null,
    input.idempotency?.expiresAt ?? null,
    channel,
    sender,
  ],
  read: firstOf(toAvailable),
});

/** Returns no row if the job cannot be admitted for any reason. */
const placeHold = statement({
  text: `update accounts set held = held + $3
    where id = $1 and status = 'active' and balance - held >= $3
      and exists (select 1 from api_keys where id = $2 and account_id = $1 and revoked_at is null)
      and not exists (
        select 1 from idempotency_keys where account_id = $1 and endpoint = $4 and idempotency_key = $5
      )
    returning balance - held as available`,
  values: ({ job, hold, idempotency }: OpenJobInput) => [
    job.accountId,
    job.keyId,
    hold,
    idempotency?.endpoint ?? null,
    idempotency?.key ?? null,
  ],
  read: firstOf(toAvailable),
});

const insertJob = statement({
  text: `insert into jobs (${newJobs.list()}, turn) values (${newJobs.parameters()}, ${turn})`,
  values: (input: OpenJobInput) => jobValues(input),
});

const insertHold = statement({
  text: `insert into holds (job_id, account_id, amount, state, expires_at) values ($1, $2, $3, 'open', $4)`,
  values: ({ job, hold }: OpenJobInput) => [job.id, job.accountId, hold, job.deadlineAt],
});

const claimKey = statement({
  text: `insert into idempotency_keys (account_id, endpoint, idempotency_key, body_hash, job_id, expires_at)
    values ($1, $2, $3, $4, $5, $6)`,
  values: valuesOf<KeyClaim>('accountId', 'endpoint', 'key', 'bodyHash', 'jobId', 'expiresAt'),
});

type KeyClaim = NonNullable<OpenJobInput['idempotency']> & { accountId: string; jobId: string };

function* admitInSteps(input: OpenJobInput): Steps<Nano | null> {
  const { job, idempotency } = input;
  const available = yield* run(placeHold, input);
  if (available === null) return null;
  yield* run(insertJob, input);
  yield* run(insertHold, input);
  if (idempotency !== null) yield* run(claimKey, { ...idempotency, accountId: job.accountId, jobId: job.id });
  return available;
}

/** Returns the new available balance; null if the job cannot be admitted for any reason. */
const admit = (input: OpenJobInput, kind: EngineKind): Steps<Nano | null> =>
  kind === 'postgres' ? run(admitAtOnce, input) : admitInSteps(input);

/**
 * Reads the state of a payment. In a transaction it locks the row, before the account's row, as those do that move a
 * payment with its credit.
 */
const findState = statement({
  text: ({ lockRows }) => `select state from payments where identity = $1 ${lockRows}`,
  values: (identity: string) => [identity],
  read: firstOf(({ state }: { state: PaymentState }) => state),
});

const dropClaim = statement({
  text: `delete from idempotency_keys where account_id = $1 and endpoint = $2 and idempotency_key = $3`,
  values: valuesOf<Claimed>('accountId', 'endpoint', 'key'),
});

/** Inputs expire this long after the job's deadline, unless the job ends before. */
const afterDeadlineMs = 24 * 3_600_000;

/**
 * Makes reserved media the inputs of a job. Returns how many it found. An expired one is not found, because its bytes
 * may be gone. The sum stops the planner from using the index on the expiry: the ids find the rows.
 */
const attachInputs = statement({
  text: ({ givenStrings }) => `update media
    set job_id = $1, role = 'input', position = given.position, expires_at = $4
    from ${givenStrings('$3')}
    where media.id = given.value and media.account_id = $2 and media.job_id is null
      and media.expires_at + 0 > $5
    returning 1 as attached`,
  values: ({ job, inputs, now }: OpenJobInput) => [
    job.id,
    job.accountId,
    JSON.stringify(inputs),
    job.deadlineAt + afterDeadlineMs,
    now,
  ],
  read: countRows,
});

/** Takes the confirmation of a call at this price or a higher one. */
const takeConfirmation = statement({
  text: `delete from asked_calls
    where key_id = $1 and call_hash = $2 and answer = 'confirmed' and most >= $3 and expires_at > $4
    returning 1 as taken`,
  values: ({ job, needsConfirmed = null, hold, now }: OpenJobInput) => [job.keyId, needsConfirmed, hold, now],
  read: hasRows,
});

/**
 * Returns the job that a payment, or else an idempotency key, has opened before. It reads as `openJob` does, but says
 * of a job that it is owed. Null if there is none. Reads only.
 */
export const findReplay = readSteps(findEarlier);

/** Handles all cases but the usual one. */
function* openUnderLock(input: OpenJobInput, kind: EngineKind): Steps<OpenJobOutcome> {
  const { job, hold, idempotency, activeLimit, inputs, now, payment = null } = input;
  const { accountId, id: jobId } = job;
  const state = payment === null ? null : yield* run(findState, payment.identity);
  const account = yield* run(lockAccount, job);
  if (account === null) return { outcome: 'forbidden' };
  const { available, isUsable } = account;
  const earlier = yield* findEarlier({ accountId, idempotency, payment: payment?.identity ?? null, now });
  if (earlier?.outcome === 'replayed') return { ...earlier, available };
  if (earlier?.outcome === 'conflict') return earlier;
  if (earlier !== null || (payment !== null && (state === null || state === 'rejected')))
    return { outcome: 'unsettled' };
  if (!isUsable) return { outcome: 'forbidden' };
  const active = activeLimit === null ? 0 : yield* run(countActiveJobs, job);
  if (activeLimit !== null && active >= activeLimit) return { outcome: 'too_many_active', active };
  const counted = job.isBudgeted ? yield* run(listCountedKeys, { keyId: job.keyId, time: now }) : [];
  const short = shortBudget(counted, hold);
  if (short !== null || available < hold) return { outcome: 'insufficient', available, ...short };
  // Last, so that a call that is refused anyway uses no confirmation up.
  if ((input.needsConfirmed ?? null) !== null && !(yield* run(takeConfirmation, input)))
    return { outcome: 'unconfirmed' };
  if (idempotency !== null) yield* run(dropClaim, { ...idempotency, accountId });
  const left = yield* admit(input, kind);
  // The key was revoked after the account was locked.
  if (left === null) return { outcome: 'forbidden' };
  if (job.isBudgeted) yield* countHold({ job, hold, now });
  if (payment !== null) {
    const { identity, most } = payment;
    yield* run(claimJob, { identity, jobId });
    if (most !== null) yield* run(pledgeHold, { jobId, most, payment: identity });
  }
  const attached = inputs.length === 0 ? 0 : yield* run(attachInputs, input);
  if (attached < inputs.length)
    throw new RangeError(
      `job ${jobId}: ${inputs.length - attached} of its ${inputs.length} inputs do not exist any more`,
    );
  return { outcome: 'opened', available: left };
}

/**
 * Admits a job in one unit: claims the payment and the idempotency key (if given), places the hold, and inserts the job
 * with the status and lease that `job` has. Checks in this order: the payment, the idempotency key, the API key and
 * account (`forbidden`), the number of active jobs, the budgets of the key, which no top-up helps, the balance, the
 * confirmation. So a replay is answered even if key, account or balance have changed. The payment and the key of a job that `freesItsKey` are free.
 * Rejects, and changes nothing, if one of `inputs` is gone.
 */
export const openJob = writeSteps(
  function* (input: OpenJobInput, kind): Steps<OpenJobOutcome> {
    // Active jobs and budgets are not read in one statement: its snapshot is older than its lock on the account's row.
    const isPlain =
      input.activeLimit === null &&
      input.inputs.length === 0 &&
      !input.job.isBudgeted &&
      !input.payment &&
      !input.needsConfirmed;
    const available = isPlain ? yield* unlessRaced(admit(input, kind)) : null;
    if (available === null) return yield* inTransaction(openUnderLock(input, kind), input.job.accountId);
    return { outcome: 'opened', available };
  },
  { queuesJobs: ({ outcome }, { job }) => outcome === 'opened' && job.status === 'queued' },
);

/** Skips a key that a new job is claiming now. */
export const sweepIdempotencyKeys = sweepExpired('idempotency_keys', 'account_id, endpoint, idempotency_key');
