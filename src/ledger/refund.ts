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

/**
 * Gives back all of what a job was charged and was not given back before. However often it is asked, and by however
 * many at once, no more than the charge goes back: `too_much` when nothing is left.
 */
export const refundRest = (
  { store, clock }: LedgerServices<'refundJob'>,
  { jobId, reason }: Pick<EntryInput, 'reason'> & { jobId: string },
): Promise<RefundOutcome> =>
  store.refundJob({ entryId: newId(), jobId, amount: null, note: reason, now: clock.now() });
