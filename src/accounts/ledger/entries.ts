import type { Clock } from '../../kit/clock.ts';
import { newId } from '../../kit/ids.ts';
import { nanoPerUsd, type Nano } from '../../kit/money.ts';
import type { PostEntryOutcome, RefundOutcome, Store } from '../../store/store.ts';

interface LedgerServices<Command extends keyof Store> {
  store: Pick<Store, Command>;
  clock: Clock;
}

interface EntryInput {
  amount: Nano;
  /** The operator's reason, not blank; never shown to customers. */
  reason: string;
  /** UUID of the new entry. The same command sent again with this id posts nothing. Default: a new id. */
  entryId?: string;
}

/** Maximum amount of one entry: far above any real one, and far below the limit of the store's 64-bit sums. */
export const maxEntryAmount: Nano = 10_000_000n * nanoPerUsd;

/** Throws RangeError if the amount is zero, below `smallest` or above the maximum, or the reason is blank. */
const assertPostable = ({ amount, reason }: EntryInput, smallest: Nano): void => {
  if (amount === 0n || amount < smallest || amount > maxEntryAmount)
    throw new RangeError('the amount of a ledger entry is out of range');
  if (reason.trim() === '') throw new RangeError('a ledger entry needs a reason');
};

const poster =
  (type: 'topup' | 'adjustment', smallest: Nano) =>
  async (
    { store, clock }: LedgerServices<'postEntry'>,
    input: EntryInput & { accountId: string },
  ): Promise<PostEntryOutcome> => {
    assertPostable(input, smallest);
    const { accountId, amount, reason, entryId = newId() } = input;
    return store.postEntry({ id: entryId, accountId, type, amount, note: reason, now: clock.now() });
  };

export const credit = poster('topup', 1n);

/** Returns `insufficient` if it would take more than the available balance. */
export const adjust = poster('adjustment', -maxEntryAmount);

export const refund = async (
  { store, clock }: LedgerServices<'refundJob'>,
  input: EntryInput & { jobId: string },
): Promise<RefundOutcome> => {
  assertPostable(input, 1n);
  const { jobId, amount, reason, entryId = newId() } = input;
  return store.refundJob({ entryId, jobId, amount, note: reason, now: clock.now() });
};

/** Returns `too_much` if nothing is left. Repeated or parallel calls never refund more than the charge. */
export const refundRest = (
  { store, clock }: LedgerServices<'refundJob'>,
  { jobId, reason }: Pick<EntryInput, 'reason'> & { jobId: string },
): Promise<RefundOutcome> =>
  store.refundJob({ entryId: newId(), jobId, amount: null, note: reason, now: clock.now() });
