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
