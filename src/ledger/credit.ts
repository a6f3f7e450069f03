import { newId } from '../kit/ids.ts';
import type { PostEntryOutcome } from '../store/store.ts';
import { assertPostable, type EntryInput, type LedgerServices } from './entry-input.ts';

/** Adds a top-up. Throws RangeError if the amount is not above zero or too large, or the reason is blank. */
export const credit = async (
  { store, clock }: LedgerServices<'postEntry'>,
  input: EntryInput & { accountId: string },
): Promise<PostEntryOutcome> => {
  assertPostable(input, 1n);
  const { accountId, amount, reason, entryId = newId() } = input;
  return store.postEntry({ id: entryId, accountId, type: 'topup', amount, note: reason, now: clock.now() });
};
