import type { DatabaseSync } from 'node:sqlite';
import { entryColumns, toEntry, type EntryRow } from '../rows.ts';
import type { LedgerEntry, NewEntry, NewRefund, PostEntryOutcome, RefundOutcome } from '../store.ts';
import { assertSameEntry, isTooMuch } from '../entry-rules.ts';
import { prepareSql } from './prepare.ts';

const entries = (database: DatabaseSync) => {
  const insert = prepareSql<EntryRow>(
    database,
    `insert into ledger_entries (${entryColumns}) values ($1, $2, $3, $4, $5, $6, $7)`,
  );
  const find = prepareSql<EntryRow>(database, `select ${entryColumns} from ledger_entries where id = $1`);
  return {
    insert: ({ id, accountId, type, amount, jobId, note, createdAt }: LedgerEntry): void =>
      insert.run(id, accountId, type, amount, jobId, note, createdAt),
    find: (id: string): LedgerEntry | null => {
      const row = find.get(id);
      return row === undefined ? null : toEntry(row);
    },
  };
};

const credit = (database: DatabaseSync): ((accountId: string, amount: bigint) => bigint) => {
  const update = prepareSql<{ available: bigint }>(
    database,
    'update accounts set balance = balance + $2 where id = $1 returning balance - held as available',
  );
  return (accountId, amount) => {
    const account = update.get(accountId, amount);
    if (account === undefined) throw new Error(`there is no account ${accountId}`);
    return account.available;
  };
};

export const postEntryCommand = (database: DatabaseSync): ((input: NewEntry) => PostEntryOutcome) => {
  const available = prepareSql<{ available: bigint }>(
    database,
    'select balance - held as available from accounts where id = $1',
  );
  const { insert, find } = entries(database);
  const add = credit(database);
  return ({ id, accountId, type, amount, note, now }) => {
    const account = available.get(accountId);
    if (account === undefined) return { outcome: 'no_account' };
    const entry: LedgerEntry = { id, accountId, type, amount, jobId: null, note, createdAt: now };
    const earlier = find(id);
    if (earlier !== null) {
      assertSameEntry(earlier, entry);
      return { outcome: 'posted', entry: earlier, available: account.available };
    }
    if (amount < 0n && account.available + amount < 0n)
      return { outcome: 'insufficient', available: account.available };
    insert(entry);
    return { outcome: 'posted', entry, available: add(accountId, amount) };
  };
};

export const refundJobCommand = (database: DatabaseSync): ((input: NewRefund) => RefundOutcome) => {
  const hold = prepareSql<{ account_id: string; captured: bigint; refunded: bigint }>(
    database,
    'select account_id, captured, refunded from holds where job_id = $1',
  );
  const mark = prepareSql(database, 'update holds set refunded = refunded + $2 where job_id = $1');
  const { insert, find } = entries(database);
  const add = credit(database);
  return ({ entryId, jobId, amount, note, now }) => {
    const charged = hold.get(jobId);
    if (charged === undefined) return { outcome: 'no_job' };
    const { account_id: accountId, captured, refunded } = charged;
    const refundable = captured - refunded;
    const earlier = find(entryId);
    const given = amount ?? earlier?.amount ?? refundable;
    const entry: LedgerEntry = {
      id: entryId,
      accountId,
      type: 'refund',
      amount: given,
      jobId,
      note,
      createdAt: now,
    };
    if (earlier !== null) {
      assertSameEntry(earlier, entry);
      return { outcome: 'refunded', entry: earlier, refunded, available: add(accountId, 0n) };
    }
    if (isTooMuch(amount, refundable)) return { outcome: 'too_much', refundable };
    insert(entry);
    mark.run(jobId, given);
    return { outcome: 'refunded', entry, refunded: refunded + given, available: add(accountId, given) };
  };
};
