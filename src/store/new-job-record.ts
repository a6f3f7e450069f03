import type { Job, OpenJobInput } from './store.ts';

/** The job as `openJob` stores it. */
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

/** What a queued job of an account is put back for each of its jobs of the kind that stand in the queue already. */
const turnMs = 60_000;

/**
 * When a queued job's turn comes, in both engines, with the parameters of `toJobValues`: at once, or one step after the last
 * of the account's own. So accounts take turns, and one with a thousand jobs holds up nobody who has one.
 */
export const newJobTurn = `case when $6 = 'queued' then (
    select max(turn) from (
      select $12 as turn union all
      select max(turn) + ${turnMs} from jobs where account_id = $2 and kind = $4 and status = 'queued'
    ) as turns
  ) end`;

/** The turn of a job that goes back into the queue: its own, or none before its time where it never stood there. */
export const requeuedTurn = 'coalesce(turn, created_at)';

/** What both engines insert of a new job: `toJobValues` has the values in this order, then comes `newJobTurn`. */
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

/** How long the inputs of a job outlive its deadline at most; its end ends them sooner. */
const afterDeadlineMs = 24 * 3_600_000;

/** What gives a job its inputs: see `attachInputs`. */
export const toAttachment = ({ job, inputs, now }: OpenJobInput) => ({
  jobId: job.id,
  accountId: job.accountId,
  inputs,
  expiresAt: job.deadlineAt + afterDeadlineMs,
  now,
});

/** Throws RangeError when not all inputs could be attached. */
export const assertAllAttached = ({ job, inputs }: OpenJobInput, attached: number): void => {
  if (attached === inputs.length) return;
  throw new RangeError(
    `job ${job.id}: ${inputs.length - attached} of its ${inputs.length} inputs are not there any more`,
  );
};
