import type { Nano } from '../../kit/money.ts';
import { columns, int64, integer, orNull, text } from '../columns.ts';
import { read, readBy, run, unlessRaced, writeSteps, writeTransaction, type Steps } from '../command.ts';
import { eachOf, firstOf, firstRow, statement, valuesOf } from '../statement.ts';
import { pageValues, type HistoryPosition, type Page } from './history-page.ts';
import { countRefund } from './usage-table.ts';
import { entries, entryFields, post, readAvailable, type LedgerEntry } from './ledger-table.ts';

export const getEntry = readBy('ledger_entries', 'id', entries);

/** The newer entries of an account that are summed at most to tell an earlier balance. */
const maxNewerEntries = 10_000;

const balancedEntry = columns({ ...entryFields, balance: int64(), newer: integer() });

/**
 * Finds an entry of the account by its id, or by the job that it debits. `balanceAfter`: the sum of the entries up to it,
 * in the order of `listEntries`; null if more than 10,000 entries are newer.
 */
export const findEntry = read({
  isLong: true,
  text: `with wanted as (
      select ${entries.list()} from ledger_entries where id = $2 and account_id = $1
      union all
      select ${entries.list()} from ledger_entries where job_id = $2 and type = 'debit' and account_id = $1
    ), newer as (
      select e.amount from wanted join ledger_entries e
        on e.account_id = $1 and (e.created_at, e.id) > (wanted.created_at, wanted.id)
      limit ${maxNewerEntries + 1}
    )
    select ${entries.list()},
      (select balance from accounts where id = $1)
        - (select cast(coalesce(sum(amount), 0) as bigint) from newer) as balance,
      (select count(*) from newer) as newer
    from wanted`,
  values: valuesOf<{ accountId: string; id: string }>('accountId', 'id'),
  read: firstOf((row: Parameters<typeof balancedEntry.read>[0]) => {
    const { balance, newer, ...entry } = balancedEntry.read(row);
    return { ...entry, balanceAfter: newer > maxNewerEntries ? null : balance };
  }),
});
export type FoundEntry = NonNullable<ReturnType<typeof findEntry.read>>;

/** Tells whether it is the same command sent twice, which is answered and not repeated. */
const isSameEntry = (earlier: LedgerEntry, entry: LedgerEntry): boolean =>
  earlier.accountId === entry.accountId &&
  earlier.type === entry.type &&
  earlier.amount === entry.amount &&
  earlier.jobId === entry.jobId;

type EntryConflict = { outcome: 'conflict' };

export interface NewEntry extends Pick<LedgerEntry, 'id' | 'accountId' | 'amount' | 'note'> {
  type: 'topup' | 'adjustment';
  now: number;
}

export type PostEntryOutcome =
  | EntryConflict
  | { outcome: 'posted'; entry: LedgerEntry; available: Nano }
  | { outcome: 'insufficient'; available: Nano }
  | { outcome: 'no_account' };

/** Refuses a negative amount above the available balance. The same entry under the same id is posted once. */
export const postEntry = writeSteps(function* ({ now, ...input }: NewEntry, kind): Steps<PostEntryOutcome> {
  const entry: LedgerEntry = { ...input, jobId: null, payment: null, createdAt: now };
  const posted = yield* unlessRaced(post(entry, kind));
  if (posted !== null) return { outcome: 'posted', entry, available: posted };
  const available = yield* run(readAvailable, entry.accountId);
  if (available === null) return { outcome: 'no_account' };
  const earlier = yield* run(getEntry, entry.id);
  if (earlier === null) return { outcome: 'insufficient', available };
  if (!isSameEntry(earlier, entry)) return { outcome: 'conflict' };
  return { outcome: 'posted', entry: earlier, available };
});

const lockHold = statement({
  text: ({ lockRows }) => `select account_id, refunded,
      case when debited = 0 then 0 else captured end as captured
    from holds where job_id = $1 ${lockRows}`,
  values: (jobId: string) => [jobId],
  read: firstRow<{ account_id: string; captured: Nano; refunded: Nano }>(),
});

const markRefunded = statement({
  text: 'update holds set refunded = refunded + $2 where job_id = $1',
  values: valuesOf<{ jobId: string; amount: Nano }>('jobId', 'amount'),
});

export interface NewRefund {
  entryId: string;
  jobId: string;
  /** Null refunds all that is left, which must be above zero. */
  amount: Nano | null;
  note: string | null;
  now: number;
}

export type RefundOutcome =
  | EntryConflict
  /** `refunded` is the total of the job's refunds. */
  | { outcome: 'refunded'; entry: LedgerEntry; refunded: Nano; available: Nano }
  /** `refundable` is the largest amount that can still be refunded. */
  | { outcome: 'too_much'; refundable: Nano }
  | { outcome: 'no_job' };

/** Refunds at most the charge that was not refunded yet. Once for one entry id, as `postEntry`. */
export const refundJob = writeTransaction(function* (input: NewRefund, kind): Steps<RefundOutcome> {
  const { entryId: id, jobId, note, now } = input;
  const hold = yield* run(lockHold, jobId);
  if (hold === null) return { outcome: 'no_job' };
  const { account_id: accountId, captured, refunded } = hold;
  const refundable = captured - refunded;
  const earlier = yield* run(getEntry, id);
  const amount = input.amount ?? earlier?.amount ?? refundable;
  const entry: LedgerEntry = {
    id,
    accountId,
    type: 'refund',
    amount,
    jobId,
    note,
    payment: null,
    createdAt: now,
  };
  if (earlier !== null) {
    if (!isSameEntry(earlier, entry)) return { outcome: 'conflict' };
    const available = (yield* run(readAvailable, accountId)) ?? 0n;
    return { outcome: 'refunded', entry: earlier, refunded, available };
  }
  // A null amount, all that is left, is too much if nothing is left.
  if (amount > refundable || (input.amount === null && refundable === 0n))
    return { outcome: 'too_much', refundable };
  yield* run(markRefunded, { jobId, amount });
  const available = yield* post(entry, kind);
  if (available === null) throw new Error(`the refund ${id} could not be posted`);
  yield* run(countRefund, { jobId, amount });
  return { outcome: 'refunded', entry, refunded: refunded + amount, available };
});

const entriesWithModel = columns({ ...entryFields, model: orNull(text()) });
export type EntryWithModel = ReturnType<typeof entriesWithModel.read>;

/** Lists entries in the order of `listJobs`, without entries of amount zero. */
export const listEntries = read({
  text: `select ${entries.list('e.')}, j.model
    from ledger_entries e left join jobs j on j.id = e.job_id
    where e.account_id = $1 and (e.created_at, e.id) < ($2, $3) and e.amount <> 0
    order by e.created_at desc, e.id desc limit $4`,
  values: (page: Page) => pageValues(page),
  read: eachOf(entriesWithModel.read),
});

/** Reads the balance of an account, holds included, as it was before the entries from `time` on. Null without the account. */
export const balanceBefore = read({
  isLong: true,
  text: `select balance - (
      select cast(coalesce(sum(amount), 0) as bigint) from ledger_entries where account_id = $1 and created_at >= $2
    ) as balance from accounts where id = $1`,
  values: valuesOf<{ accountId: string; time: number }>('accountId', 'time'),
  read: firstOf(({ balance }: { balance: Nano }) => balance),
});

const statementEntries = columns({
  ...entryFields,
  model: orNull(text()),
  kind: orNull(text()),
  keyId: orNull(text()),
  keyLabel: orNull(text()),
});
export type StatementEntry = ReturnType<typeof statementEntries.read>;

interface StatementPart {
  accountId: string;
  after: HistoryPosition;
  /** Entries from this time on are left out. */
  until: number;
  limit: number;
}

/** Lists entries with their jobs and keys, oldest first, without entries of amount zero. */
export const listStatementEntries = read({
  text: `select ${entries.list('e.')}, j.model, j.kind, j.key_id, k.label as key_label
    from ledger_entries e left join jobs j on j.id = e.job_id left join api_keys k on k.id = j.key_id
    where e.account_id = $1 and (e.created_at, e.id) > ($2, $3) and e.created_at < $4 and e.amount <> 0
    order by e.created_at, e.id limit $5`,
  values: ({ accountId, after, until, limit }: StatementPart) => [
    accountId,
    after.createdAt,
    after.id,
    until,
    limit,
  ],
  read: eachOf(statementEntries.read),
});
