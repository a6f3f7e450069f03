import { isTransient, toErrorCode, type ErrorEnvelope } from '../kit/errors.ts';
import type { Nano } from '../kit/money.ts';

export const jobKinds = ['chat', 'image', 'responses', 'search', 'tool', 'video'] as const;
export const jobStatuses = ['queued', 'running', 'done', 'failed'] as const;

/**
 * The job that has a payment of its own for each request to an upstream. Null for none, and for a search: when that
 * is repeated it is another job, and gets the answer that was paid for the failed one.
 */
export const buyingJob = ({ operation, jobId }: { operation: string; jobId: string | null }): string | null =>
  operation === 'search' ? null : jobId;

/**
 * Tells whether the job's idempotency key is free again. It is for a chat, response or search that failed uncharged with a 5xx,
 * or with an upstream's 429. The job's own state decides this, so the transaction that ends the job also frees the key.
 * An image or video keeps its key, because its caller already got the answer that it was accepted. A mounted tool may have
 * run, so its key is free only if the call was never sent (`upstream_unavailable`).
 */
export const freesItsKey = (job: {
  kind: string;
  status: string;
  charged: Nano;
  error: ErrorEnvelope | null;
}): boolean =>
  job.status === 'failed' &&
  job.charged === 0n &&
  (job.kind === 'tool'
    ? job.error?.code === 'upstream_unavailable'
    : ['chat', 'responses', 'search'].includes(job.kind) && isTransient(toErrorCode(job.error?.code)));
