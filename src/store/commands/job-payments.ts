import type { Nano } from '../../kit/money.ts';
import { readBy, run, unlessRaced, writeSteps, writeTransaction, type Steps } from '../command.ts';
import { eachOf, hasRows, statement, valuesOf } from '../statement.ts';
import type { PaymentState } from '../../rules/payments.ts';
import { claimJob, judgeEarlier, type Claimed } from './earlier-job.ts';
import { findJob, type Job, type JobPayment } from './job-table.ts';
import { lockAccount } from './ledger-table.ts';
import { payments } from './payment-table.ts';
import { payOwed } from './pledges.ts';

export const findPaymentOfJob = readBy('payments', 'job_id', payments);

/** The job of a settled payment is opened at once. Without one after this time, its call was refused or its process died. */
const openingMs = 120_000;

interface CallClaim extends Claimed {
  /** Identity of a payment of the account. */
  payment: string;
  now: number;
}

const claimOf = ({ endpoint, key }: Claimed): string => `${endpoint} ${key}`;

const dropOldClaim = statement({
  text: `update payments set call_claim = null
    where account_id = $1 and call_claim = $2 and state in ('settled', 'delivered') and updated_at < $3`,
  values: (claim: CallClaim) => [claim.accountId, claimOf(claim), claim.now - openingMs],
});

/** Two claims at the same moment violate the unique index. */
const claim = statement({
  text: `update payments set call_claim = $3 where identity = $1 and not exists (
      select 1 from payments other where other.account_id = $2 and other.call_claim = $3 and other.identity <> $1
    )
    returning 1 as claimed`,
  values: (input: CallClaim) => [input.payment, input.accountId, claimOf(input)],
  read: hasRows,
});

/**
 * Claims the call of an idempotency key for a payment that is about to be settled. False: another payment has claimed
 * it, and has not opened its job yet. The claim ends when the job is opened, or the payment is refused or fails.
 */
export const claimCall = writeSteps(function* (input: CallClaim): Steps<boolean> {
  yield* run(dropOldClaim, input);
  return (yield* unlessRaced(run(claim, input))) ?? false;
});

export interface PayOwedJobInput {
  /** The job, as `findReplay` found it. */
  job: Pick<Job, 'id' | 'accountId' | 'unpaidBy'>;
  keyId: string;
  /** The payment that has added to the balance for it; null: none. */
  payment: JobPayment | null;
  now: number;
}

export type PayOwedJobOutcome =
  | { outcome: 'replayed'; job: Job }
  /** Its own payment is under way again; or `payment` was given back. */
  | { outcome: 'unsettled' }
  /** The balance does not cover what is owed. */
  | { outcome: 'insufficient'; available: Nano }
  /** The key was revoked, or the account is not active. */
  | { outcome: 'forbidden' };

/** Locks payments in one order, and before the account, as those do that move a payment with its credit. */
const lockPayments = statement({
  text: ({ lockRows }) =>
    `select identity, state from payments where identity = $1 or identity = $2 order by identity ${lockRows}`,
  values: valuesOf<{ one: string | null; other: string | null }>('one', 'other'),
  read: eachOf((row: { identity: string; state: PaymentState }) => row),
});

/** A job has one payment. The later one has paid, because its money is there. */
const releaseJob = statement({
  text: 'update payments set job_id = null where job_id = $1',
  values: (jobId: string) => [jobId],
});

/** Pays from the balance for a job whose own payment did not. Answers a job that is paid as it is. */
export const payOwedJob = writeTransaction(
  function* (
    { job: { id: jobId, accountId, unpaidBy }, keyId, payment, now }: PayOwedJobInput,
    kind,
  ): Steps<PayOwedJobOutcome> {
    const other = payment?.identity ?? null;
    const locked = yield* run(lockPayments, { one: unpaidBy, other });
    const state = locked.find(({ identity }) => identity === other)?.state ?? 'rejected';
    const account = yield* run(lockAccount, { accountId, keyId });
    const job = yield* run(findJob, jobId);
    if (account === null || job === null) return { outcome: 'forbidden' };
    const judged = yield* judgeEarlier(job, other);
    if (judged.outcome !== 'owed') return judged;
    if (payment !== null && state === 'rejected') return { outcome: 'unsettled' };
    const { available, isUsable } = account;
    if (!isUsable) return { outcome: 'forbidden' };
    if (!(yield* payOwed({ jobId, accountId, captured: job.charged, now }, kind)))
      return { outcome: 'insufficient', available };
    if (payment !== null && payment.most === null) {
      yield* run(releaseJob, jobId);
      yield* run(claimJob, { identity: payment.identity, jobId });
    }
    return { outcome: 'replayed', job: { ...job, unpaidBy: null } };
  },
  { accountOf: ({ job }) => job.accountId },
);
