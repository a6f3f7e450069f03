import type { Log } from '../log.ts';
import { pause } from '../repeat.ts';
import type { FinishJobInput, Job, Store } from '../store/store.ts';
import { isTerminal } from './wait-for-job.ts';

const attemptsInAll = 6;

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
  for (let attempt = 1; ; attempt += 1) {
    try {
      const finished = await store.finishJob(input);
      if (finished.outcome === 'finished') return finished.job;
      if (finished.job !== null && isTerminal(finished.job)) return finished.job;
      throw new LeaseLostError(input.id);
    } catch (error) {
      if (error instanceof LeaseLostError || attempt >= attemptsInAll) throw error;
      log.warn({ err: error, jobId: input.id, attempt }, 'writing the end of a job failed; trying again');
      await pause(50 * 2 ** attempt);
    }
  }
};
