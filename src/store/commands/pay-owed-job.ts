import type { Nano } from '../../kit/money.ts';
import { inTransaction, run, writeSteps, type Steps } from '../command.ts';
import { eachOf, nothing, statement, type EngineKind, valuesOf } from '../statement.ts';
import { claimJob, judgeEarlier } from './earlier-job.ts';
import { findJob, type Job, type JobPayment } from './job-table.ts';
import { lockAccount } from './lock-account.ts';
import { payOwed } from './pledges.ts';
import type { PaymentState } from '../../rules/payments.ts';

export interface PayOwedJobInput {
  /** The job, as `findReplay` found it. */
  job: Pick<Job, 'id' | 'accountId' | 'unpaidBy'>;
  /** The key under which it is asked for. */
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
  read: nothing,
});

function* payUnderLock(
  { job: { id: jobId, accountId, unpaidBy }, keyId, payment, now }: PayOwedJobInput,
  kind: EngineKind,
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
}

/**
 * Pays from the balance for a job that is owed, because its own payment did not pay for it. Answers a job that is paid
 * as it is.
 */
export const payOwedJob = writeSteps((input: PayOwedJobInput, kind) =>
  inTransaction(payUnderLock(input, kind), input.job.accountId),
);
