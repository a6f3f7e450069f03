import type { Log } from '../kit/log.ts';
import type { FinishJobInput, Job, Store } from '../store/store.ts';
import { LeaseLostError, outliveOutage } from './outlive-outage.ts';
import { isTerminal } from './wait-for-job.ts';

/**
 * Writes a job's end. After a store error the write may have happened, so it is repeated. The compare-and-set on the
 * state makes that safe: a terminal job was ended by an earlier try. Throws LeaseLostError.
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
