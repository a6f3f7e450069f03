import type { Job, Store } from '../store/store.ts';
import { pause } from '../kit/repeat.ts';

const firstPollMs = 50;
const slowestPollMs = 1_000;

export const isTerminal = (job: Job): boolean => job.status === 'done' || job.status === 'failed';

export interface WaitForJobOptions {
  store: Pick<Store, 'getJob'>;
  job: Job;
  /** Settles when the job ends in this process; null if it runs elsewhere. */
  finishedHere: Promise<Job> | null;
  timeoutMs: number;
  signal: AbortSignal;
}

/**
 * Returns the terminal job, or the job as it is after `timeoutMs` or when `signal` aborts. Awaits a job of this
 * process. Polls for another one, more and more slowly.
 */
export const waitForJob = async (options: WaitForJobOptions): Promise<Job> => {
  const { job, finishedHere, timeoutMs, signal } = options;
  if (isTerminal(job) || timeoutMs <= 0) return job;
  const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  if (finishedHere === null) return poll(options, limit);
  const here = await Promise.race([finishedHere.catch(() => null), pause(timeoutMs, limit)]);
  // The job was lost here, or is not finished in time: only the store knows its state.
  return here ?? poll(options, limit);
};

const poll = async ({ store, job }: WaitForJobOptions, limit: AbortSignal): Promise<Job> => {
  let latest = (await store.getJob({ id: job.id, accountId: job.accountId })) ?? job;
  for (
    let waitMs = firstPollMs;
    !limit.aborted && !isTerminal(latest);
    waitMs = Math.min(waitMs * 1.5, slowestPollMs)
  ) {
    await pause(waitMs, limit);
    latest = (await store.getJob({ id: job.id, accountId: job.accountId })) ?? latest;
  }
  return latest;
};
