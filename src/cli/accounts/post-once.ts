import { newId } from '../../kit/ids.ts';
import { formatUsd, type Nano } from '../../kit/money.ts';
import { StoreError } from '../../store/store-error.ts';
import { CommandError } from '../command-error.ts';

export interface EntryOptions {
  reason: string;
  entryId?: string;
}

interface EntryInput {
  amount_usd: string;
  reason: string;
  entry_id: string;
}

/**
 * Posts a ledger entry under the id of the options, or under a new one. If the store fails, the entry may have been
 * posted. Then it throws a CommandError that says with which id the command can be repeated.
 */
export const postOnce = async <Posted>(
  amount: Nano,
  { reason, entryId = newId() }: EntryOptions,
  post: (entry: EntryInput) => Promise<Posted>,
): Promise<Posted> => {
  try {
    return await post({ amount_usd: formatUsd(amount), reason, entry_id: entryId });
  } catch (cause) {
    if (!(cause instanceof StoreError)) throw cause;
    throw new CommandError(
      'store_failed',
      `The store failed, and the entry may have been posted. Repeat the command with --entry-id ${entryId}, which posts ` +
        `it only once: ${cause.message}`,
      { cause },
    );
  }
};
