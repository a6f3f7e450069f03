import { newId } from '../kit/ids.ts';
import type { RefundOutcome } from '../store/store.ts';
import { assertPostable, type EntryInput, type LedgerServices } from './entry-input.ts';

/**
 * Gives back some of what a job was charged, an amount above zero. Throws RangeError on another amount or a
 * blank reason.
 */
export const refund = async (
  { store, clock }: LedgerServices<'refundJob'>,
  input: EntryInput & { jobId: string },
): Promise<RefundOutcome> => {
  assertPostable(input, 1n);
  const { jobId, amount, reason, entryId = newId() } = input;
  return store.refundJob({ entryId, jobId, amount, note: reason, now: clock.now() });
};
