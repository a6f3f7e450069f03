import type { LedgerEntry, NewRefund } from './store.ts';

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

/** Whether a refund asks for more than there is to give back; "all that is left" does when nothing is. */
export const isTooMuch = (amount: NewRefund['amount'], refundable: bigint): boolean =>
  amount === null ? refundable === 0n : amount > refundable;
