import type { Clock } from '../kit/clock.ts';
import { nanoPerUsd, type Nano } from '../kit/money.ts';
import type { Store } from '../store/store.ts';

/** What every command that moves money by hand needs. */
export interface LedgerServices<Command extends keyof Store> {
  store: Pick<Store, Command>;
  clock: Clock;
}

export interface EntryInput {
  amount: Nano;
  /** Why, for the books; never shown to customers. Not blank. */
  reason: string;
  /** Id of the new entry, a UUID: the same command sent again under it posts nothing more. Default: a new one. */
  entryId?: string;
}

/** The most that one entry may move: far above any real one, and far below what the store's 64 bits can sum. */
export const maxEntryAmount: Nano = 10_000_000n * nanoPerUsd;

/** Throws RangeError on an amount that is zero, below `smallest` or above the most, and on a blank reason. */
export const assertPostable = ({ amount, reason }: EntryInput, smallest: Nano): void => {
  if (amount === 0n || amount < smallest || amount > maxEntryAmount)
    throw new RangeError('the amount of a ledger entry is out of range');
  if (reason.trim() === '') throw new RangeError('a ledger entry needs a reason');
};
