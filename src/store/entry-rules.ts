import type { LedgerEntry, NewRefund } from './store.ts';

/**
 * Throws RangeError if another entry was posted under the id. The same entry is the same command sent twice, which is
 * answered and not repeated.
 */
export const assertSameEntry = (earlier: LedgerEntry, entry: LedgerEntry): void => {
  const isSame =
    earlier.accountId === entry.accountId &&
    earlier.type === entry.type &&
    earlier.amount === entry.amount &&
    earlier.jobId === entry.jobId;
  if (!isSame) throw new RangeError(`entry ${entry.id} was already posted with other contents`);
};

/** Tells whether a refund exceeds the refundable amount. A null amount ("all that is left") does if nothing is left. */
export const isTooMuch = (amount: NewRefund['amount'], refundable: bigint): boolean =>
  amount === null ? refundable === 0n : amount > refundable;
