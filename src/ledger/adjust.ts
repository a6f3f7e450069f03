import { newId } from '../kit/ids.ts';
import type { PostEntryOutcome } from '../store/store.ts';
import { assertPostable, maxEntryAmount, type EntryInput, type LedgerServices } from './entry-input.ts';

/**
 * Corrects an account by a signed amount. Returns `insufficient` if it would take more than the available balance.
 * Throws RangeError if the amount is zero or too large, or the reason is blank.
 */
export const adjust = async (
  { store, clock }: LedgerServices<'postEntry'>,
  input: EntryInput & { accountId: string },
): Promise<PostEntryOutcome> => {
  assertPostable(input, -maxEntryAmount);
  const { accountId, amount, reason, entryId = newId() } = input;
  return store.postEntry({
    id: entryId,
    accountId,
    type: 'adjustment',
    amount,
    note: reason,
    now: clock.now(),
  });
};
