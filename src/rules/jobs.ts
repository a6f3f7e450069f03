import { isTransient, toErrorCode, type ErrorEnvelope } from '../kit/errors.ts';
import type { Nano } from '../kit/money.ts';

/**
 * Tells whether the job's idempotency key is free again. It is for a chat, response or search that failed uncharged with a 5xx,
 * or with an upstream's 429. The job's own state decides this, so the transaction that ends the job also frees the key.
 * An image or video keeps its key, because its caller already got the answer that it was accepted.
 */
export const freesItsKey = ({
  kind,
  status,
  charged,
  error,
}: {
  kind: string;
  status: string;
  charged: Nano;
  error: ErrorEnvelope | null;
}): boolean =>
  ['chat', 'responses', 'search'].includes(kind) &&
  status === 'failed' &&
  charged === 0n &&
  isTransient(toErrorCode(error?.code));
