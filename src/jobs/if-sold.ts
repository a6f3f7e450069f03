import { ProviderError } from '../providers/provider-error.ts';
import type { Job } from '../store/store.ts';
import type { Executor } from './executor.ts';
import { toFailedOutcome } from './provider-failure.ts';

/**
 * Fails a job uncharged if its account cannot buy its SKU now. The gateway may restart with other routes while a job is
 * queued. Then the sandbox must not answer for real money, nor a real model for sandbox credit.
 */
export const ifSold =
  (isSold: (job: Job, signal: AbortSignal) => Promise<boolean>, run: Executor): Executor =>
  async (job, context) => {
    if (job.providerTask !== null || (await isSold(job, context.signal))) return run(job, context);
    const message = `the account of the job cannot buy ${job.model} any more`;
    return toFailedOutcome(new ProviderError(message, { failure: 'fatal', code: 'upstream_unavailable' }));
  };
