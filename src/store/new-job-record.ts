import type { Job, OpenJobInput } from './store.ts';

/** The job as `openJob` stores it. */
export const newJobRecord = ({ job, hold, now }: OpenJobInput): Job => ({
  ...job,
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

/** The values of a new job's row, in the order in which both engines insert its columns. */
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
];
