import type { Log } from '../log.ts';
import { pause } from '../repeat.ts';
import type { FinishJobInput, Job, Store } from '../store/store.ts';
import { isTerminal } from './wait-for-job.ts';

/** How long an outage of the store is waited out; the answer is paid for upstream. */
const giveUpAfterMs = 600_000;
const longestPauseMs = 5_000;

/** The job is not ours to end any more: its lease ran out and another worker has it. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError';

  constructor(jobId: string) {
    super(`the lease of job ${jobId} was lost`);
  }
}

/**
 * Writes a job's end. A store error leaves open whether the write happened, so it is repeated: the compare-and-set
 * on the state makes that safe, and a job found terminal was ended by an earlier try. Throws LeaseLostError.
 */
export const finishJob = async (
  { store, log }: { store: Store; log: Log },
  input: FinishJobInput,
): Promise<Job> => {
  const giveUpAt = performance.now() + giveUpAfterMs;
  for (let attempt = 1; ; attempt += 1) {
    try {
      const finished = await store.finishJob(input);
      if (finished.outcome === 'finished') return finished.job;
      if (finished.job !== null && isTerminal(finished.job)) return finished.job;
      throw new LeaseLostError(input.id);
    } catch (error) {
      if (error instanceof LeaseLostError || performance.now() > giveUpAt) throw error;
      log.warn({ err: error, jobId: input.id, attempt }, 'writing the end of a job failed; trying again');
      await pause(Math.min(50 * 2 ** attempt, longestPauseMs));
    }
  }
};
