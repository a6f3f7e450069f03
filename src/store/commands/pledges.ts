import type { Nano } from '../../kit/money.ts';
import { run, type Steps } from '../command.ts';
import { eachOf, statement, valuesOf, type EngineKind } from '../statement.ts';
import { post } from './ledger-table.ts';

/** Makes the hold of a new job, which holds nothing of the balance, the pledge of a payment. */
export const pledgeHold = statement({
  text: 'update holds set amount = $2, payment = $3, debited = 0 where job_id = $1',
  values: valuesOf<{ jobId: string; most: Nano; payment: string }>('jobId', 'most', 'payment'),
});

/**
 * The hold of a job that is done and owed: its payment has ended, whether it is kept or not, and did not pay for it. A
 * proof that was freed may have paid for another job.
 */
export const isOwed = `debited = 0 and state = 'captured' and not exists (
        select 1 from payments where identity = holds.payment
          and state in ('reserved', 'verified', 'produced', 'broadcasting', 'unknown')
      )`;

interface OwedHold {
  job_id: string;
  captured: Nano;
  payment: string;
}

/** Lists the unpaid jobs of an account, whose payments have ended: that of the given payment first. */
const listOwed = statement({
  text: `select job_id, captured, payment from holds
    where account_id = $1 and ${isOwed}
    order by case when payment = $2 then 0 else 1 end, ended_at desc limit 100`,
  values: valuesOf<{ accountId: string; payment: string }>('accountId', 'payment'),
  read: eachOf((row: OwedHold) => row),
});

const markDebited = statement({
  text: 'update holds set debited = 1 where job_id = $1',
  values: (jobId: string) => [jobId],
});

/** Debits a job whose payment has ended and did not pay for it. False if the balance does not cover the whole job. */
export function* payOwed(
  { jobId, accountId, captured, now }: { jobId: string; accountId: string; captured: Nano; now: number },
  kind: EngineKind,
): Steps<boolean> {
  const entry = {
    id: `${jobId}.paid`,
    accountId,
    type: 'debit',
    amount: -captured,
    jobId,
    note: null,
    payment: null,
    createdAt: now,
  } as const;
  if ((yield* post(entry, kind)) === null) return false;
  yield* run(markDebited, jobId);
  return true;
}

/**
 * Debits the job that a payment pays for, in the unit that credits it; and then unpaid ones of the account, each as a
 * whole, from what was available before: the payment itself may be for a call.
 */
export function* debitPledged(
  { accountId, payment, before, now }: { accountId: string; payment: string; before: Nano; now: number },
  kind: EngineKind,
): Steps<void> {
  let left = before;
  for (const [index, owed] of (yield* run(listOwed, { accountId, payment })).entries()) {
    const { job_id: jobId, captured } = owed;
    const isOwn = index === 0 && owed.payment === payment;
    if (!isOwn && captured > left) continue;
    if ((yield* payOwed({ jobId, accountId, captured, now }, kind)) && !isOwn) left -= captured;
  }
}
