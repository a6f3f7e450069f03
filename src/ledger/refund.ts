import { newId } from '../kit/ids.ts';
import type { RefundOutcome } from '../store/store.ts';
import { assertPostable, type EntryInput, type LedgerServices } from './entry-input.ts';

/**
 * Refunds a part of a job's charge. Throws RangeError if the amount is not above zero or too large, or the reason is
 * blank.
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
 * Refunds the rest of a job's charge. Returns `too_much` if nothing is left. Repeated or parallel calls never refund
 * more than the charge.
 */
export const refundRest = (
  { store, clock }: LedgerServices<'refundJob'>,
  { jobId, reason }: Pick<EntryInput, 'reason'> & { jobId: string },
): Promise<RefundOutcome> =>
  store.refundJob({ entryId: newId(), jobId, amount: null, note: reason, now: clock.now() });
