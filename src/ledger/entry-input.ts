import type { Clock } from '../kit/clock.ts';
import { nanoPerUsd, type Nano } from '../kit/money.ts';
import type { Store } from '../store/store.ts';

export interface LedgerServices<Command extends keyof Store> {
  store: Pick<Store, Command>;
  clock: Clock;
}

export interface EntryInput {
  amount: Nano;
  /** The operator's reason, not blank; never shown to customers. */
  reason: string;
  /** UUID of the new entry. The same command sent again with this id posts nothing. Default: a new id. */
  entryId?: string;
}

/** Maximum amount of one entry: far above any real one, and far below the limit of the store's 64-bit sums. */
export const maxEntryAmount: Nano = 10_000_000n * nanoPerUsd;

/** Throws RangeError if the amount is zero, below `smallest` or above the maximum, or the reason is blank. */
export const assertPostable = ({ amount, reason }: EntryInput, smallest: Nano): void => {
  if (amount === 0n || amount < smallest || amount > maxEntryAmount)
    throw new RangeError('the amount of a ledger entry is out of range');
  if (reason.trim() === '') throw new RangeError('a ledger entry needs a reason');
};
