import { ProviderError } from '../providers/provider-error.ts';
import type { Job } from '../store/store.ts';
import type { Executor } from './executor.ts';
import { toFailedOutcome } from './provider-failure.ts';

/**
 * Fails a job uncharged when its account cannot buy its SKU now. A job may wait in the queue while the gateway is started
 * again with other routes, and the sandbox must not answer for real money then, nor a real model for sandbox credit.
 */
export const ifSold =
  (isSold: (job: Job, signal: AbortSignal) => Promise<boolean>, run: Executor): Executor =>
  async (job, context) => {
    if (job.providerTask !== null || (await isSold(job, context.signal))) return run(job, context);
    const message = `${job.model} is not on sale to the account of the job any more`;
    return toFailedOutcome(new ProviderError(message, { failure: 'fatal', code: 'upstream_unavailable' }));
  };
