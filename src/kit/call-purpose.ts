import { AsyncLocalStorage } from 'node:async_hooks';

export interface CallPurpose {
  /** The kind of the job, or the name of the operation that is sold. */
  operation: string;
  /** Null: it is not for a job. */
  jobId: string | null;
  /** The identity of the x402 payment that a buyer made for it; null: none. */
  soldPayment: string | null;
  /** It asks for work that was begun before, and paid then. Absent: it begins work. */
  isQuestion?: true;
}

const purposes = new AsyncLocalStorage<CallPurpose>();

/** All outbound calls of `work` are for `purpose`. Adapters do not pass it on: only the buyer of answers reads it. */
export const withPurpose = <Result>(purpose: CallPurpose, work: () => Result): Result =>
  purposes.run(purpose, work);

export const currentPurpose = (): CallPurpose =>
  purposes.getStore() ?? { operation: 'other', jobId: null, soldPayment: null };
