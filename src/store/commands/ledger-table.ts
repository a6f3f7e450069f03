import type { Nano } from '../../kit/money.ts';
import { columns, int64, orNull, text, time, type RowOf } from '../columns.ts';
import { run, type Steps } from '../command.ts';
import { firstOf, nothing, statement, type EngineKind, type SqlValue } from '../statement.ts';

export type EntryType = 'topup' | 'debit' | 'refund' | 'adjustment';

export const entryFields = {
  id: text(),
  accountId: text(),
  type: text<EntryType>(),
  /** Signed: credits positive, debits negative. */
  amount: int64(),
  jobId: orNull(text()),
  /** The operator's reason; never shown to customers. */
  note: orNull(text()),
  createdAt: time(),
};
export type LedgerEntry = RowOf<typeof entryFields>;
export const entries = columns(entryFields);

const entryValues = ({ id, accountId, type, amount, jobId, note, createdAt }: LedgerEntry): SqlValue[] => [
  id,
  accountId,
  type,
  amount,
  jobId,
  note,
  createdAt,
];

const toAvailable = firstOf(({ available }: { available: Nano }) => available);

export const readAvailable = statement({
  text: 'select balance - held as available from accounts where id = $1',
  values: (accountId: string) => [accountId],
  read: toAvailable,
});

/** Returns no row if the account is missing, its balance is too small, or the entry exists. */
const addToBalance = `update accounts set balance = balance + cast($4 as bigint)
  where id = $2 and (cast($4 as bigint) >= 0 or balance - held + cast($4 as bigint) >= 0)
    and not exists (select 1 from ledger_entries where id = $1)
  returning id, balance - held as available`;

const postAtOnce = statement({
  text: `with account as (${addToBalance}), entry as (
      insert into ledger_entries (${entries.list()})
      select $1, account.id, $3, $4, $5, $6, $7 from account
    )
    select available from account`,
  values: entryValues,
  read: toAvailable,
});

const addAlone = statement({
  text: addToBalance,
  values: (entry: LedgerEntry) => entryValues(entry).slice(0, 4),
  read: toAvailable,
});

const insertEntry = statement({
  text: `insert into ledger_entries (${entries.list()}) values ($1, $2, $3, $4, $5, $6, $7)`,
  values: entryValues,
  read: nothing,
});

function* postInSteps(entry: LedgerEntry): Steps<Nano | null> {
  const available = yield* run(addAlone, entry);
  if (available !== null) yield* run(insertEntry, entry);
  return available;
}

/**
 * Adds an entry. Returns the new available balance; null if the account is missing, its balance is too small, or the
 * entry exists.
 */
export const post = (entry: LedgerEntry, kind: EngineKind): Steps<Nano | null> =>
  kind === 'postgres' ? run(postAtOnce, entry) : postInSteps(entry);
