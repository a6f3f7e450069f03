import { newId } from '../kit/ids.ts';
import type { PostEntryOutcome } from '../store/store.ts';
import { assertPostable, maxEntryAmount, type EntryInput, type LedgerServices } from './entry-input.ts';

/**
 * Corrects an account by a signed amount. More than its available balance cannot be taken: `insufficient`.
 * Throws RangeError on a zero or too large amount or a blank reason.
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
