import type { Job, OpenJobInput } from './store.ts';

/** Makes the job that `openJob` stores. */
export const newJobRecord = ({ job, hold, now }: OpenJobInput): Job => ({
  ...job,
  progress: 0,
  providerTask: null,
  attempts: job.status === 'running' ? 1 : 0,
  createdAt: now,
  startedAt: job.status === 'running' ? now : null,
  finishedAt: null,
  result: null,
  error: null,
  metadata: null,
  hold,
  holdState: 'open',
  charged: 0n,
  refunded: 0n,
});

/** A queued job waits this much longer for each queued job of the same account and kind. */
const turnMs = 60_000;

/**
 * SQL of both engines for the time of a queued job's turn, with the parameters of `toJobValues`: now, or one step after
 * the account's last queued job. So accounts take turns, and an account with a thousand jobs does not delay the others.
 */
export const newJobTurn = `case when $6 = 'queued' then (
    select max(turn) from (
      select $12 as turn union all
      select max(turn) + ${turnMs} from jobs where account_id = $2 and kind = $4 and status = 'queued'
    ) as turns
  ) end`;

/** The turn of a job that is queued again: its earlier turn, or its creation if it was never queued. */
export const requeuedTurn = 'coalesce(turn, created_at)';

/** The columns of a new job. Their values are those of `toJobValues`, then `newJobTurn`. */
export const newJobColumns = `id, account_id, key_id, kind, model, status, attempts, max_attempts, lease_owner,
  lease_until, deadline_at, created_at, started_at, request, custom_data, parameters, webhook_url, turn`;

export const toJobValues = (job: Job): (string | number | null)[] => [
  job.id,
  job.accountId,
  job.keyId,
  job.kind,
  job.model,
  job.status,
  job.attempts,
  job.maxAttempts,
  job.leaseOwner,
  job.leaseUntil,
  job.deadlineAt,
  job.createdAt,
  job.startedAt,
  job.request,
  job.customData,
  job.parameters,
  job.webhookUrl,
];

/** Inputs expire this long after the job's deadline, unless the job ends before. */
const afterDeadlineMs = 24 * 3_600_000;

/** Makes the input of the statement `attachInputs`. */
export const toAttachment = ({ job, inputs, now }: OpenJobInput) => ({
  jobId: job.id,
  accountId: job.accountId,
  inputs,
  expiresAt: job.deadlineAt + afterDeadlineMs,
  now,
});

/** Throws RangeError if an input was not attached. */
export const assertAllAttached = ({ job, inputs }: OpenJobInput, attached: number): void => {
  if (attached === inputs.length) return;
  throw new RangeError(
    `job ${job.id}: ${inputs.length - attached} of its ${inputs.length} inputs do not exist any more`,
  );
};
