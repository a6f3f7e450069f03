import { run, unlessRaced, writeSteps, type Steps } from '../command.ts';
import { hasRows, nothing, statement } from '../statement.ts';
import type { Claimed } from './earlier-job.ts';

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
  read: nothing,
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
