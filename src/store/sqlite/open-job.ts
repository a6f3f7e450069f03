import type { DatabaseSync } from 'node:sqlite';
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
import { prepare, prepareSql } from './prepare.ts';

export const openJobCommand = (database: DatabaseSync): ((input: OpenJobInput) => OpenJobOutcome) => {
  const replay = replayOf(database);
  const admit = admission(database);
  const insert = insertion(database);
  return (input) => {
    const earlier = replay(input);
    if (earlier !== null) return earlier;
    const refusalOrAvailable = admit(input);
    if (typeof refusalOrAvailable !== 'bigint') return refusalOrAvailable;
    insert(input);
    return { outcome: 'opened', job: newJobRecord(input), available: refusalOrAvailable };
  };
};

interface AvailableRow {
  available: bigint;
}

/** Looks up the idempotency key: a replay, a conflict, or null if it is free. */
const replayOf = (database: DatabaseSync): ((input: OpenJobInput) => OpenJobOutcome | null) => {
  const find = prepareSql<{ job_id: string; body_hash: string }>(
    database,
    `select job_id, body_hash from idempotency_keys
      where account_id = $1 and endpoint = $2 and idempotency_key = $3 and expires_at > $4`,
  );
  const available = prepareSql<AvailableRow>(
    database,
    'select balance - held as available from accounts where id = $1',
  );
  const jobOf = prepare(database, findJob);
  return ({ job: { accountId }, idempotency, now }) => {
    if (idempotency === null) return null;
    const claimed = find.get(accountId, idempotency.endpoint, idempotency.key, now);
    if (claimed === undefined) return null;
    const job = jobOf(claimed.job_id);
    if (job !== null && freesItsKey(job)) return null;
    if (claimed.body_hash !== idempotency.bodyHash) return { outcome: 'conflict' };
    const account = available.get(accountId);
    if (job === null || account === undefined)
      throw new Error('an idempotency key names a job that does not exist');
    return { outcome: 'replayed', job, available: account.available };
  };
};

/** Checks key, account and balance, then places the hold. Returns the refusal, or the new available balance. */
const admission = (database: DatabaseSync): ((input: OpenJobInput) => OpenJobOutcome | bigint) => {
  const check = prepareSql<AvailableRow>(
    database,
    `select a.balance - a.held as available from api_keys k join accounts a on a.id = k.account_id
      where k.id = $1 and k.account_id = $2 and k.revoked_at is null and a.status = 'active'`,
  );
  const hold = prepareSql<AvailableRow>(
    database,
    'update accounts set held = held + $2 where id = $1 returning balance - held as available',
  );
  const active = prepare(database, countActive);
  return ({ job, hold: amount, activeLimit }) => {
    const account = check.get(job.keyId, job.accountId);
    if (account === undefined) return { outcome: 'forbidden' };
    const running = activeLimit === null ? 0 : active(job);
    if (activeLimit !== null && running >= activeLimit)
      return { outcome: 'too_many_active', active: running };
    if (account.available < amount) return { outcome: 'insufficient', available: account.available };
    return hold.get(job.accountId, amount)?.available ?? { outcome: 'forbidden' };
  };
};

const insertion = (database: DatabaseSync): ((input: OpenJobInput) => void) => {
  const insertJob = prepareSql(
    database,
    `insert into jobs (${newJobColumns})
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, ${newJobTurn})`,
  );
  const insertHold = prepareSql(
    database,
    `insert into holds (job_id, account_id, amount, state, expires_at) values ($1, $2, $3, 'open', $4)`,
  );
  const claimKey = prepareSql(
    database,
    `insert into idempotency_keys (account_id, endpoint, idempotency_key, body_hash, job_id, expires_at)
      values ($1, $2, $3, $4, $5, $6)
      on conflict (account_id, endpoint, idempotency_key) do update set
        body_hash = excluded.body_hash, job_id = excluded.job_id, expires_at = excluded.expires_at`,
  );
  const attach = prepare(database, attachInputs);
  return (input) => {
    const job = newJobRecord(input);
    insertJob.run(...toJobValues(job));
    insertHold.run(job.id, job.accountId, job.hold, job.deadlineAt);
    if (input.inputs.length > 0) assertAllAttached(input, attach(toAttachment(input)));
    const { idempotency } = input;
    if (idempotency === null) return;
    const { endpoint, key, bodyHash, expiresAt } = idempotency;
    claimKey.run(job.accountId, endpoint, key, bodyHash, job.id, expiresAt);
  };
};
