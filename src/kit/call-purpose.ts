import { AsyncLocalStorage } from 'node:async_hooks';

/** What an outbound call is made for. */
export interface CallPurpose {
  /** The kind of the job, or the name of the operation that is sold. */
  operation: string;
  /** Null: it is not for a job. */
  jobId: string | null;
  /** The identity of the x402 payment that a buyer made for it; null: none. */
  soldPayment: string | null;
}

const purposes = new AsyncLocalStorage<CallPurpose>();

/**
 * Runs `work`. All outbound calls that it makes are for `purpose`. Adapters of upstreams do not pass it on, so that only
 * the buyer of paid answers knows of it.
 */
export const withPurpose = <Result>(purpose: CallPurpose, work: () => Result): Result =>
  purposes.run(purpose, work);

/** Returns the purpose of the running work. */
export const currentPurpose = (): CallPurpose =>
  purposes.getStore() ?? { operation: 'other', jobId: null, soldPayment: null };
