import type { Log } from '../kit/log.ts';
import type { FinishJobInput, Job, Store } from '../store/store.ts';
import { LeaseLostError, outliveOutage } from './outlive-outage.ts';
import { isTerminal } from './wait-for-job.ts';

/**
 * Writes a job's end. A store error leaves open whether the write happened, so it is repeated: the compare-and-set
 * on the state makes that safe, and a job found terminal was ended by an earlier try. Throws LeaseLostError.
 */
export const finishJob = ({ store, log }: { store: Store; log: Log }, input: FinishJobInput): Promise<Job> =>
  outliveOutage(
    async () => {
      const finished = await store.finishJob(input);
      if (finished.outcome === 'finished') return finished.job;
      if (finished.job !== null && isTerminal(finished.job)) return finished.job;
      throw new LeaseLostError(input.id);
    },
    { what: 'writing the end of a job', jobId: input.id, log },
  );
