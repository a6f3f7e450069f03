import type { Pool } from './connection.ts';
import { freesItsKey } from '../frees-its-key.ts';
import {
  assertAllAttached,
  newJobColumns,
  newJobRecord,
  newJobTurn,
  toAttachment,
  toJobValues,
} from '../new-job-record.ts';
import { countActive, findJob } from '../statements/jobs.ts';
import { attachInputs } from '../statements/media.ts';
import type { OpenJobInput, OpenJobOutcome } from '../store.ts';
import { inTransaction, isUniqueViolation, prepare, sqlOn, type NamedQuery, type Sql } from './sql.ts';

/**
 * The usual case in one statement. The update locks the account's row, so the newest balance is tested. Returns no row
 * if the job cannot be admitted for any reason. If another process claims the idempotency key at the same moment, a
 * unique violation undoes the whole statement.
 */
const admitAtOnce: NamedQuery = {
  name: 'open_job',
  text: `with account as (
      update accounts set held = held + $18
      where id = $2 and status = 'active' and balance - held >= $18
        and exists (select 1 from api_keys where id = $3 and account_id = $2 and revoked_at is null)
        and not exists (
          select 1 from idempotency_keys where account_id = $2 and endpoint = $19 and idempotency_key = $20
        )
      returning id, balance - held as available
    ), job as (
      insert into jobs (${newJobColumns})
      select $1, account.id, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17,
        ${newJobTurn}
      from account
      returning id, account_id, status
    ), hold as (
      insert into holds (job_id, account_id, amount, state, expires_at)
      select id, account_id, $18, 'open', $11 from job
    ), claim as (
      insert into idempotency_keys (account_id, endpoint, idempotency_key, body_hash, job_id, expires_at)
      select account_id, $19, $20, $21, id, $22 from job where cast($20 as text) is not null
    ), notice as (
      select pg_notify($23, $24) from job where status = 'queued'
    )
    select account.available from account left join notice on true`,
};

const lockAccount: NamedQuery = {
  name: 'open_job_lock_account',
  text: `select status, balance - held as available from accounts where id = $1 for no key update`,
};

const findClaim: NamedQuery = {
  name: 'open_job_find_claim',
  text: `select job_id, body_hash from idempotency_keys
    where account_id = $1 and endpoint = $2 and idempotency_key = $3 and expires_at > $4`,
};

const findUsableKey: NamedQuery = {
  name: 'open_job_find_key',
  text: `select id from api_keys where id = $1 and account_id = $2 and revoked_at is null`,
};

const dropClaim: NamedQuery = {
  name: 'open_job_drop_claim',
  text: `delete from idempotency_keys where account_id = $1 and endpoint = $2 and idempotency_key = $3`,
};

const readJob = prepare(findJob);
const activeJobs = prepare(countActive);
const attach = prepare(attachInputs);

/** The channel on which a process announces queued jobs, and its own name there. */
export interface JobAnnouncement {
  channel: string;
  sender: string;
}

export const openJobCommand = (
  pool: Pool,
  announcement: JobAnnouncement,
): ((input: OpenJobInput) => Promise<OpenJobOutcome>) => {
  const admit = (sql: Sql, input: OpenJobInput): Promise<bigint | null> => admitOn(sql, input, announcement);
  return async (input) => {
    const available = isPlain(input) ? await admitUnlessRaced(() => admit(sqlOn(pool), input)) : null;
    if (available !== null) return { outcome: 'opened', job: newJobRecord(input), available };
    return inTransaction(pool, (sql) => openUnderLock(sql, input, admit));
  };
};

/**
 * Tells whether one statement is enough. It cannot count active jobs, because it would count them in a snapshot that is
 * older than the lock on the account's row.
 */
const isPlain = ({ activeLimit, inputs }: OpenJobInput): boolean =>
  activeLimit === null && inputs.length === 0;

/** Returns the new available balance; null if the job was not admitted. */
const admitOn = async (
  sql: Sql,
  input: OpenJobInput,
  { channel, sender }: JobAnnouncement,
): Promise<bigint | null> => {
  const { idempotency } = input;
  const account = await sql.get<{ available: bigint }>(admitAtOnce, [
    ...toJobValues(newJobRecord(input)),
    input.hold,
    idempotency?.endpoint ?? null,
    idempotency?.key ?? null,
    idempotency?.bodyHash ?? null,
    idempotency?.expiresAt ?? null,
    channel,
    sender,
  ]);
  return account?.available ?? null;
};

const admitUnlessRaced = async (admit: () => Promise<bigint | null>): Promise<bigint | null> => {
  try {
    return await admit();
  } catch (error) {
    if (isUniqueViolation(error)) return null;
    throw error;
  }
};

/**
 * Handles all other cases. Whoever opens a job must first lock the account's row, so nothing that is read here can
 * change under this lock.
 */
const openUnderLock = async (
  sql: Sql,
  input: OpenJobInput,
  admit: (sql: Sql, input: OpenJobInput) => Promise<bigint | null>,
): Promise<OpenJobOutcome> => {
  const { job, hold, idempotency, activeLimit, now } = input;
  const account = await sql.get<{ status: string; available: bigint }>(lockAccount, [job.accountId]);
  if (account === undefined) return { outcome: 'forbidden' };
  const { status, available } = account;
  if (idempotency !== null) {
    const { endpoint, key, bodyHash } = idempotency;
    const claim = await sql.get<{ job_id: string; body_hash: string }>(findClaim, [
      job.accountId,
      endpoint,
      key,
      now,
    ]);
    const earlier = claim === undefined ? null : await readJob(sql, claim.job_id);
    if (claim !== undefined && earlier !== null && !freesItsKey(earlier))
      return claim.body_hash === bodyHash
        ? { outcome: 'replayed', job: earlier, available }
        : { outcome: 'conflict' };
  }
  const key = await sql.get(findUsableKey, [job.keyId, job.accountId]);
  if (key === undefined || status !== 'active') return { outcome: 'forbidden' };
  const active = activeLimit === null ? 0 : await activeJobs(sql, job);
  if (activeLimit !== null && active >= activeLimit) return { outcome: 'too_many_active', active };
  if (available < hold) return { outcome: 'insufficient', available };
  if (idempotency !== null) await sql.get(dropClaim, [job.accountId, idempotency.endpoint, idempotency.key]);
  const left = await admit(sql, input);
  if (left === null) throw new Error(`job ${job.id} was neither admitted nor refused`);
  if (input.inputs.length > 0) assertAllAttached(input, await attach(sql, toAttachment(input)));
  return { outcome: 'opened', job: newJobRecord(input), available: left };
};
