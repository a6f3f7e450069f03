import type { Nano } from '../../kit/money.ts';
import { columns, int64, orNull, text, time, type RowOf } from '../columns.ts';
import { run, type Steps } from '../command.ts';
import { firstOf, statement, valuesOf, type EngineKind } from '../statement.ts';

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
  payment: orNull(text()),
  createdAt: time(),
};
export type LedgerEntry = RowOf<typeof entryFields>;
export const entries = columns(entryFields);

const toAvailable = firstOf(({ available }: { available: Nano }) => available);

export const readAvailable = statement({
  text: 'select balance - held as available from accounts where id = $1',
  values: (accountId: string) => [accountId],
  read: toAvailable,
});

/**
 * Whoever opens or pays for a job must first lock the account's row, so nothing that is read under this lock can change,
 * except that the key may be revoked. A connection is usable as long as the key that made it is not revoked, either.
 */
export const lockAccount = statement({
  text: ({ lockRows }) => `select status, balance - held as available,
      exists (select 1 from api_keys where id = $2 and account_id = $1 and revoked_at is null)
        and not exists (select 1 from connections c join api_keys p on p.id = c.parent_id
          where c.id = $2 and p.revoked_at is not null) as has_key
    from accounts where id = $1 ${lockRows}`,
  values: valuesOf<{ accountId: string; keyId: string }>('accountId', 'keyId'),
  read: firstOf((row: { status: string; available: Nano; has_key: bigint | boolean }) => ({
    available: row.available,
    isUsable: row.status === 'active' && Boolean(row.has_key),
  })),
});

/** Returns no row if the account is missing, its balance is too small, or the entry exists. */
const addToBalance = `update accounts set balance = balance + cast($4 as bigint)
  where id = $2 and (cast($4 as bigint) >= 0 or balance - held + cast($4 as bigint) >= 0)
    and not exists (select 1 from ledger_entries where id = $1)
  returning id, balance - held as available`;

const postAtOnce = statement({
  text: `with account as (${addToBalance}), entry as (
      insert into ledger_entries (${entries.list()})
      select $1, account.id, $3, $4, $5, $6, $7, $8 from account
    )
    select available from account`,
  values: entries.values,
  read: toAvailable,
});

const addAlone = statement({
  text: addToBalance,
  values: (entry: LedgerEntry) => entries.values(entry).slice(0, 4),
  read: toAvailable,
});

const insertEntry = statement({
  text: `insert into ledger_entries (${entries.list()}) values (${entries.parameters()})`,
  values: entries.values,
});

function* postInSteps(entry: LedgerEntry): Steps<Nano | null> {
  const available = yield* run(addAlone, entry);
  if (available !== null) yield* run(insertEntry, entry);
  return available;
}

/** Returns the available balance; null if the account is missing, the balance too small, or the entry exists. */
export const post = (entry: LedgerEntry, kind: EngineKind): Steps<Nano | null> =>
  kind === 'postgres' ? run(postAtOnce, entry) : postInSteps(entry);
