import { AppError } from '../errors.ts';
import { formatUsd, type Nano } from '../money.ts';
import type { Job, NewJob, Store } from '../store/store.ts';
import type { Clock } from '../clock.ts';

/** Idempotency keys are kept this long; the contract promises at least 24 hours. */
const idempotencyLifeMs = 48 * 3_600_000;

export interface PrepaidOrder {
  job: NewJob;
  /** The worst-case price, held until the job ends. */
  hold: Nano;
  /** The caller's Idempotency-Key with the hash of its canonical request. */
  idempotency: { endpoint: string; key: string; bodyHash: string } | null;
}

export type PrepaidOpened =
  | { outcome: 'opened' | 'replayed'; job: Job; available: Nano }
  /** The balance does not cover the hold; nothing was written. */
  | { outcome: 'insufficient'; available: Nano };

/**
 * Admits a prepaid job: idempotency, hold and job row in one durable unit. Throws AppError
 * `idempotency_conflict` when the key was used with another request and `invalid_api_key` when the key or
 * account may not spend any more.
 */
export const openPrepaid = async (
  { store, clock }: { store: Store; clock: Clock },
  order: PrepaidOrder,
): Promise<PrepaidOpened> => {
  const now = clock.now();
  const opened = await store.openJob({
    job: order.job,
    hold: order.hold,
    idempotency:
      order.idempotency === null ? null : { ...order.idempotency, expiresAt: now + idempotencyLifeMs },
    now,
  });
  switch (opened.outcome) {
    case 'opened':
    case 'replayed':
    case 'insufficient':
      return opened;
    case 'conflict':
      throw new AppError(
        'idempotency_conflict',
        'This Idempotency-Key was used with a different request. Use a new key for a new request.',
        // OpenAI's clients would otherwise repeat a 409 by themselves.
        { headers: { 'x-should-retry': 'false' } },
      );
    case 'forbidden':
      throw new AppError(
        'invalid_api_key',
        'The API key is not valid any more. Ask the operator for a new one.',
      );
  }
};

/** The refusal of a balance that is too low. */
export const insufficientBalance = (hold: Nano, available: Nano): AppError =>
  new AppError(
    'insufficient_balance',
    `The request may cost up to $${formatUsd(hold)} and $${formatUsd(available)} is available. ` +
      'Top up the account, or ask for less output.',
  );
