import { run, type Steps } from '../command.ts';
import { firstOf, firstRow, statement, valuesOf } from '../statement.ts';
import { findJob, jobColumns, toJob, type Job } from './job-table.ts';
import { getPayment } from './payments.ts';
import { freesItsKey } from '../../rules/jobs.ts';
import { openStates } from '../../rules/payments.ts';

export interface Claimed {
  accountId: string;
  endpoint: string;
  key: string;
}

/** `coalesce` stops the planner from reading the whole index on the jobs of payments, which looks small to it. */
const findJobOfPayment = statement({
  text: `select ${jobColumns} from payments p join jobs j on j.id = coalesce(p.job_id, '') join holds h on h.job_id = j.id
    where p.identity = $1 and j.account_id = $2`,
  values: valuesOf<{ identity: string; accountId: string }>('identity', 'accountId'),
  read: firstOf(toJob),
});

export const claimJob = statement({
  text: 'update payments set job_id = $2, call_claim = null where identity = $1',
  values: valuesOf<{ identity: string; jobId: string }>('identity', 'jobId'),
});

/** Also finds a claim that has expired. */
const findClaim = statement({
  text: `select job_id, body_hash, expires_at from idempotency_keys
    where account_id = $1 and endpoint = $2 and idempotency_key = $3`,
  values: valuesOf<Claimed>('accountId', 'endpoint', 'key'),
  read: firstRow<{ job_id: string; body_hash: string; expires_at: bigint }>(),
});

/**
 * Finds another payment, which raises no balance and is not given back, that is or may be settled for a job, as if its
 * process died meanwhile. `answer`: what it has bought; null before it is settled.
 */
const findPaidAlone = statement({
  text: `select case when state in ('settled', 'delivered') then result end as answer from payments
    where job_id = $1 and credit is null and refunded = 0 and state not in ('rejected', 'failed')
    and identity <> coalesce(cast($2 as text), '')`,
  values: valuesOf<{ jobId: string; payment: string | null }>('jobId', 'payment'),
  read: firstRow<{ answer: string | null }>(),
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
  const isFree = job !== null && freesItsKey(job);
  const alone = isFree ? yield* run(findPaidAlone, { jobId: job.id, payment }) : null;
  if (job === null || (isFree && alone === null)) return null;
  if (claim?.body_hash !== idempotency?.bodyHash) return { outcome: 'conflict' };
  if (alone !== null)
    return alone.answer === null
      ? { outcome: 'unsettled' }
      : { outcome: 'replayed', job: { ...job, status: 'done', error: null, result: alone.answer } };
  return yield* judgeEarlier(job, payment);
}

/** Tells whether a job is paid, or its payment is under way, or it is owed. */
export function* judgeEarlier(
  job: Job,
  payment: string | null,
): Steps<Extract<Earlier, { outcome: 'replayed' | 'unsettled' | 'owed' }>> {
  const { unpaidBy, holdState } = job;
  if (unpaidBy === null || unpaidBy === payment) return { outcome: 'replayed', job };
  const waitsFor = yield* run(getPayment, unpaidBy);
  const isOpen = holdState === 'open' || (waitsFor !== null && openStates.includes(waitsFor.state));
  if (isOpen) return { outcome: 'unsettled' };
  // Outside a transaction the payment may have been settled, and the job paid, since the job was read.
  const latest = (yield* run(findJob, job.id)) ?? job;
  return { outcome: latest.unpaidBy === null ? 'replayed' : 'owed', job: latest };
}
