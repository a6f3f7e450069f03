import type { DatabaseSync } from 'node:sqlite';
import { prepareSql } from './prepare.ts';

export interface EndHoldInput {
  jobId: string;
  /** At most this; a hold that is smaller caps it. Not below zero. */
  charge: bigint;
  /** Of the debit, when something is charged. */
  entryId: string | null;
  now: number;
}

/**
 * Ends the open hold of a job: captures the charge, gives the rest free and writes the debit. Answers the
 * available balance after it.
 */
export const endHold = (database: DatabaseSync): ((input: EndHoldInput) => bigint) => {
  const end = prepareSql<{ account_id: string; amount: bigint; captured: bigint }>(
    database,
    `update holds set captured = min(amount, $2), ended_at = $3,
        state = case when min(amount, $2) > 0 then 'captured' else 'released' end
      where job_id = $1 and state = 'open' returning account_id, amount, captured`,
  );
  const settle = prepareSql<{ available: bigint }>(
    database,
    `update accounts set balance = balance - $2, held = held - $3 where id = $1
      returning balance - held as available`,
  );
  const debit = prepareSql(
    database,
    `insert into ledger_entries (id, account_id, type, amount, job_id, created_at)
      values ($1, $2, 'debit', $3, $4, $5)`,
  );
  return ({ jobId, charge, entryId, now }) => {
    const hold = end.get(jobId, charge, now);
    if (hold === undefined) throw new Error(`job ${jobId} has no open hold`);
    const account = settle.get(hold.account_id, hold.captured, hold.amount);
    if (account === undefined) throw new Error(`job ${jobId} has no account`);
    if (hold.captured > 0n) debit.run(entryId, hold.account_id, -hold.captured, jobId, now);
    return account.available;
  };
};
