import { isTransient, toErrorCode } from '../kit/errors.ts';
import type { Job } from './store.ts';

/**
 * Whether the job's idempotency key is free again: a chat or response that failed uncharged by no fault of its request
 * (a 5xx, or the 429 of an upstream). The state of the job says so itself, so the key is freed in the transaction that ends the job. An image or
 * video keeps its key, as its caller was told that it was accepted.
 */
export const freesItsKey = ({ kind, status, charged, error }: Job): boolean =>
  (kind === 'chat' || kind === 'responses') &&
  status === 'failed' &&
  charged === 0n &&
  isTransient(toErrorCode(error?.code));
