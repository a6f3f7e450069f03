import { run, type Steps } from '../command.ts';
import { firstOf, firstRow, nothing, statement, type EngineKind } from '../statement.ts';
import { findJob, freesItsKey, jobColumns, toJob, type Job, type JobPayment } from './job-table.ts';
import { openStates } from './payment-table.ts';
import { getPayment } from './payments.ts';
import { payOwed } from './pledges.ts';

export interface Claimed {
  accountId: string;
  endpoint: string;
  key: string;
}

const findJobOfPayment = statement({
  text: `select ${jobColumns} from payments p join jobs j on j.id = p.job_id join holds h on h.job_id = j.id
    where p.identity = $1 and j.account_id = $2`,
  values: ({ identity, accountId }: { identity: string; accountId: string }) => [identity, accountId],
  read: firstOf(toJob),
});

/** Of two payments that pay for one job, the later one does: its money is there. */
const releaseJob = statement({
  text: 'update payments set job_id = null where job_id = $1 and shares_job = 0',
  values: (jobId: string) => [jobId],
  read: nothing,
});

export const claimJob = statement({
  text: 'update payments set job_id = $2, shares_job = 0 where identity = $1',
  values: ({ identity, jobId }: { identity: string; jobId: string }) => [identity, jobId],
  read: nothing,
});

/** Also finds a claim that has expired. */
const findClaim = statement({
  text: `select job_id, body_hash, expires_at from idempotency_keys
    where account_id = $1 and endpoint = $2 and idempotency_key = $3`,
  values: ({ accountId, endpoint, key }: Claimed) => [accountId, endpoint, key],
  read: firstRow<{ job_id: string; body_hash: string; expires_at: bigint }>(),
});

interface Sought {
  accountId: string;
  idempotency: { endpoint: string; key: string; bodyHash: string } | null;
  /** Identity of the payment that pays for the call; null for none. */
  payment: string | null;
  now: number;
}

type Earlier =
  | { outcome: 'replayed'; job: Job }
  | { outcome: 'conflict' }
  | { outcome: 'unsettled' }
  /** The payment of the idempotency key's job has ended, and did not pay for it. */
  | { outcome: 'owed'; job: Job };

/** Finds the job that a payment, or else an idempotency key, has opened before. Null if there is none. */
export function* findEarlier({ accountId, idempotency, payment, now }: Sought): Steps<Earlier | null> {
  const paid = payment === null ? null : yield* run(findJobOfPayment, { identity: payment, accountId });
  if (paid !== null && !freesItsKey(paid)) return { outcome: 'replayed', job: paid };
  const claim = idempotency === null ? null : yield* run(findClaim, { ...idempotency, accountId });
  const job = claim !== null && claim.expires_at > now ? yield* run(findJob, claim.job_id) : null;
  if (job === null || freesItsKey(job)) return null;
  if (claim?.body_hash !== idempotency?.bodyHash) return { outcome: 'conflict' };
  const { unpaidBy, holdState } = job;
  if (unpaidBy === null || unpaidBy === payment) return { outcome: 'replayed', job };
  const waitsFor = yield* run(getPayment, unpaidBy);
  const isOpen = holdState === 'open' || (waitsFor !== null && openStates.includes(waitsFor.state));
  if (isOpen) return { outcome: 'unsettled' };
  // Outside a transaction the payment may have been settled, and the job paid, since the job was read.
  const latest = (yield* run(findJob, job.id)) ?? job;
  return { outcome: latest.unpaidBy === null ? 'replayed' : 'owed', job: latest };
}

/** Pays for a job from the balance, to which `payment` has added, because the job's own payment did not. */
export function* payInstead(
  { job, payment, now }: { job: Job; payment: JobPayment | null; now: number },
  kind: EngineKind,
): Steps<boolean> {
  const { id: jobId, accountId, charged: captured } = job;
  if (!(yield* payOwed({ jobId, accountId, captured, now }, kind))) return false;
  if (payment === null || payment.most !== null) return true;
  yield* run(releaseJob, jobId);
  yield* run(claimJob, { identity: payment.identity, jobId });
  return true;
}
