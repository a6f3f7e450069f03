import type { Pool } from './connection.ts';
import {
  ledgerChecks,
  ledgerCounts,
  ledgerReport,
  problemLines,
  type LedgerCountsRow,
} from '../ledger-check.ts';
import { entryColumns, toEntry, type EntryRow, type SqlValue } from '../rows.ts';
import { assertSameEntry, isTooMuch } from '../entry-rules.ts';
import type {
  LedgerEntry,
  LedgerReport,
  NewEntry,
  NewRefund,
  PostEntryOutcome,
  RefundOutcome,
} from '../store.ts';
import { inTransaction, isUniqueViolation, sqlOn, type NamedQuery, type Sql } from './sql.ts';

interface AvailableRow {
  available: bigint;
}

/** Returns no row if the account is missing, its balance is too small, or the entry exists. */
const postAtOnce: NamedQuery = {
  name: 'post_entry',
  text: `with account as (
      update accounts set balance = balance + cast($4 as bigint)
      where id = $2 and (cast($4 as bigint) >= 0 or balance - held + cast($4 as bigint) >= 0)
        and not exists (select 1 from ledger_entries where id = $1)
      returning id, balance - held as available
    ), entry as (
      insert into ledger_entries (${entryColumns})
      select $1, account.id, $3, $4, $5, $6, $7 from account
    )
    select available from account`,
};

const readAvailable: NamedQuery = {
  name: 'read_available',
  text: 'select balance - held as available from accounts where id = $1',
};

const findEntry: NamedQuery = {
  name: 'find_entry',
  text: `select ${entryColumns} from ledger_entries where id = $1`,
};

const lockHold: NamedQuery = {
  name: 'refund_lock_hold',
  text: 'select account_id, captured, refunded from holds where job_id = $1 for no key update',
};

const markRefunded: NamedQuery = {
  name: 'refund_mark',
  text: 'update holds set refunded = refunded + $2 where job_id = $1',
};

const post = async (sql: Sql, entry: LedgerEntry): Promise<bigint | null> => {
  const { id, accountId, type, amount, jobId, note, createdAt } = entry;
  const values = [id, accountId, type, amount, jobId, note, createdAt];
  return (await sql.get<AvailableRow>(postAtOnce, values))?.available ?? null;
};

const find = async (sql: Sql, id: string): Promise<LedgerEntry | null> => {
  const row = await sql.get<EntryRow>(findEntry, [id]);
  return row === undefined ? null : toEntry(row);
};

export const postEntryCommand = (pool: Pool): ((input: NewEntry) => Promise<PostEntryOutcome>) => {
  const sql = sqlOn(pool);
  const refusalOf = async (entry: LedgerEntry): Promise<PostEntryOutcome> => {
    const account = await sql.get<AvailableRow>(readAvailable, [entry.accountId]);
    if (account === undefined) return { outcome: 'no_account' };
    const { available } = account;
    const earlier = await find(sql, entry.id);
    if (earlier === null) return { outcome: 'insufficient', available };
    assertSameEntry(earlier, entry);
    return { outcome: 'posted', entry: earlier, available };
  };
  return async ({ id, accountId, type, amount, note, now }) => {
    const entry: LedgerEntry = { id, accountId, type, amount, jobId: null, note, createdAt: now };
    try {
      const available = await post(sql, entry);
      if (available !== null) return { outcome: 'posted', entry, available };
    } catch (error) {
      if (!isUniqueViolation(error)) throw error;
    }
    return refusalOf(entry);
  };
};

export const refundJobCommand =
  (pool: Pool): ((input: NewRefund) => Promise<RefundOutcome>) =>
  ({ entryId, jobId, amount, note, now }) =>
    inTransaction(pool, async (sql): Promise<RefundOutcome> => {
      const hold = await sql.get<{ account_id: string; captured: bigint; refunded: bigint }>(lockHold, [
        jobId,
      ]);
      if (hold === undefined) return { outcome: 'no_job' };
      const { account_id: accountId, captured, refunded } = hold;
      const refundable = captured - refunded;
      const earlier = await find(sql, entryId);
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
        const account = await sql.get<AvailableRow>(readAvailable, [accountId]);
        return { outcome: 'refunded', entry: earlier, refunded, available: account?.available ?? 0n };
      }
      if (isTooMuch(amount, refundable)) return { outcome: 'too_much', refundable };
      await sql.all(markRefunded, [jobId, given]);
      const available = await post(sql, entry);
      if (available === null) throw new Error(`the refund ${entryId} could not be posted`);
      return { outcome: 'refunded', entry, refunded: refunded + given, available };
    });

/** Runs all checks on one snapshot, so that commands that run meanwhile do not look like faults. */
export const checkLedger = (pool: Pool): Promise<LedgerReport> =>
  inTransaction(
    pool,
    async (sql) => {
      const counts = await sql.get<LedgerCountsRow>({ name: 'ledger_counts', text: ledgerCounts }, []);
      if (counts === undefined) throw new Error('the ledger could not be counted');
      const problems: string[] = [];
      for (const [index, check] of ledgerChecks.entries()) {
        const query = { name: `ledger_check_${index}`, text: check.text };
        problems.push(...problemLines(check, await sql.all<Record<string, SqlValue>>(query, [])));
      }
      return ledgerReport(counts, problems);
    },
    'snapshot',
  );
