import type { LedgerEntry } from './store.ts';

/**
 * An entry posted again under its id is the same command sent twice, and is answered, not repeated; another
 * entry under a used id is a fault of the caller. Throws RangeError.
 */
export const assertSameEntry = (earlier: LedgerEntry, entry: LedgerEntry): void => {
  const isSame =
    earlier.accountId === entry.accountId &&
    earlier.type === entry.type &&
    earlier.amount === entry.amount &&
    earlier.jobId === entry.jobId;
  if (!isSame) throw new RangeError(`entry ${entry.id} was already posted with other contents`);
};
