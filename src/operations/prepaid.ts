import { AppError } from '../kit/errors.ts';
import { formatUsd, type Nano } from '../kit/money.ts';
import { newJobRecord } from '../store/commands/job-table.ts';
import type { Job, JobPayment, NewJob, OpenJobInput, Store } from '../store/store.ts';
import { toIso, type Clock } from '../kit/clock.ts';
import { paymentInProgress } from '../payments/sale/answers.ts';
import { periodEnd, type Budget } from '../rules/key-limits.ts';

/** Idempotency keys are kept this long; the contract promises at least 24 hours. */
const idempotencyLifeMs = 48 * 3_600_000;

/** The Retry-After of an account with too many active jobs. */
const activeRetrySeconds = 10;

export interface PrepaidOrder {
  job: NewJob;
  /** The worst-case price, held until the job ends. */
  hold: Nano;
  /** The payment of this call alone, if it is paid by one. With a `most`, the balance holds nothing. */
  payment?: JobPayment | undefined;
  /** The caller's Idempotency-Key with the hash of the canonical request. */
  idempotency: { endpoint: string; key: string; bodyHash: string } | null;
  /** The most jobs of this kind that the account may have queued or running, with this one. Default: no limit. */
  activeLimit?: number;
  /** Ids of the reserved media that the job uses. */
  inputs?: readonly string[];
}

export type PrepaidOpened =
  | { outcome: 'opened' | 'replayed'; job: Job; available: Nano }
  /** The balance, or `budget`, a budget of the key, does not cover the hold; nothing was written. */
  | { outcome: 'insufficient'; available: Nano; budget?: Budget; now: number };

const lower = (one: Nano, other: Nano): Nano => (one < other ? one : other);

/**
 * Admits a prepaid job: payment, idempotency, hold and job row in one durable unit. Throws AppError
 * `idempotency_conflict` when the key was used with another request, `payment_in_progress` when another payment for its
 * job is under way, and `invalid_api_key` when the key or account may not spend any more.
 */
export const openPrepaid = async (
  { store, clock }: { store: Store; clock: Clock },
  order: PrepaidOrder,
): Promise<PrepaidOpened> => {
  const now = clock.now();
  const most = order.payment?.most ?? null;
  const input: OpenJobInput = {
    job: order.job,
    hold: most === null ? order.hold : 0n,
    payment:
      order.payment === undefined
        ? null
        : { ...order.payment, most: most === null ? null : lower(order.hold, most) },
    idempotency:
      order.idempotency === null ? null : { ...order.idempotency, expiresAt: now + idempotencyLifeMs },
    activeLimit: order.activeLimit ?? null,
    inputs: order.inputs ?? [],
    now,
  };
  const opened = await store.openJob(input);
  if (opened.outcome === 'conflict') throw idempotencyConflict();
  if (opened.outcome === 'unsettled') throw paymentInProgress();
  if (opened.outcome === 'too_many_active') throw tooManyActive();
  if (opened.outcome === 'forbidden') throw keyInvalid();
  if (opened.outcome === 'insufficient') return { ...opened, now };
  return opened.outcome === 'opened' ? { ...opened, job: newJobRecord(input) } : opened;
};

const keyInvalid = (): AppError =>
  new AppError('invalid_api_key', 'The API key is not valid any more. Ask the operator for a new one.');

const idempotencyConflict = (): AppError =>
  new AppError(
    'idempotency_conflict',
    'This Idempotency-Key was used with a different request. Use a new key for a new request.',
    // Without it, OpenAI's clients repeat a 409 by themselves.
    { headers: { 'x-should-retry': 'false' } },
  );

/** A job that was opened before. `owed`: its own payment did not pay for it, so its answer is withheld. */
export interface EarlierJob {
  outcome: 'replayed' | 'owed';
  job: Job;
}

/**
 * Finds the job that this payment or idempotency key opened before; null when both are free. Used where the checks of a
 * request reach outside the gateway: a replay must not depend on them. Throws like `openPrepaid`.
 */
export const findReplay = async (
  { store, clock }: { store: Pick<Store, 'findReplay'>; clock: Clock },
  sought: { accountId: string; payment: string | null } & Pick<PrepaidOrder, 'idempotency'>,
): Promise<EarlierJob | null> => {
  if (sought.idempotency === null && sought.payment === null) return null;
  const found = await store.findReplay({ ...sought, now: clock.now() });
  if (found?.outcome === 'conflict') throw idempotencyConflict();
  if (found?.outcome === 'unsettled') throw paymentInProgress();
  return found;
};

/**
 * Pays for a job that is owed from the balance, to which `payment` may have added. Throws AppError like `openPrepaid`, and
 * `insufficient_balance`.
 */
export const payOwed = async (
  { store, clock }: { store: Store; clock: Clock },
  owed: { job: Job; keyId: string; payment: JobPayment | null },
): Promise<Job> => {
  const paid = await store.payOwedJob({ ...owed, now: clock.now() });
  switch (paid.outcome) {
    case 'replayed':
      return paid.job;
    case 'unsettled':
      throw paymentInProgress();
    case 'forbidden':
      throw keyInvalid();
    case 'insufficient':
      throw new AppError(
        'insufficient_balance',
        `This call was made, and its answer is withheld because its payment failed. It needs ` +
          `$${formatUsd(owed.job.charged)} of balance and the account has $${formatUsd(paid.available)} available. Top up ` +
          'the account, and send the same request again.',
      );
  }
};

/** Refuses a job because too many of its kind are active. */
export const tooManyActive = (): AppError =>
  new AppError(
    'too_many_active_jobs',
    'This account has as many jobs of this kind under way as it may. Wait until one ends.',
    { retryAfterSeconds: activeRetrySeconds },
  );

/** Refuses a request because the balance is too low. `needed` is the smallest hold of the request. */
export const insufficientBalance = ({ needed, available }: { needed: Nano; available: Nano }): AppError =>
  new AppError(
    'insufficient_balance',
    `The request needs $${formatUsd(needed)} of balance and the account has $${formatUsd(available)} available. ` +
      'Top up the account, or ask for something that costs less.',
  );

/** Refuses a request that `openPrepaid` could not hold for. The envelope's `param` names the budget, if that is short. */
export const insufficient = ({
  needed,
  available,
  budget,
  now,
}: Extract<PrepaidOpened, { outcome: 'insufficient' }> & { needed: Nano }): AppError => {
  if (budget === undefined) return insufficientBalance({ needed, available });
  const { period, limit, spent, held } = budget;
  return new AppError(
    'insufficient_balance',
    `The request needs $${formatUsd(needed)}, which the budget of this API key does not cover: of $${formatUsd(limit)} a ` +
      `${period}, $${formatUsd(spent)} is spent and $${formatUsd(held)} is held for running jobs. The budget resets at ` +
      `${toIso(periodEnd(period, now))}. Raise it, use another key, or ask for something that costs less.`,
    { param: `budget_${period}_usd` },
  );
};
