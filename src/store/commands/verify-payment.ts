import type { Nano } from '../../kit/money.ts';
import { read, run, writeTransaction, type Steps } from '../command.ts';
import { onlyOf, statement, valuesOf } from '../statement.ts';
import { neverSettledMs, type PaymentState } from '../../rules/payments.ts';
import { amountColumn, type Payment } from './payment-table.ts';
import { advancePayment, getPayment, type AdvancePaymentInput } from './payments.ts';
import { owesForJobs } from './wallets.ts';

/**
 * Bounds, in nano-dollars, of the payments that are settled after the work: those that are open, and those that failed at
 * `since` or later. `each`: of one payer, and of one caller's network. `strangers`: of the payers without a settled payment.
 */
export interface Risk {
  limits: Record<'all' | 'strangers' | 'each', Nano>;
  since: number;
  client: string;
  accountId: string | null;
}

const isMadeOf = (source: string): string => `exists (
      select 1 from payments made where made.source = ${source} and made.state in ('settled', 'delivered')
    )`;

const sumAtRisk = statement({
  text: `select cast(coalesce(sum(credit), 0) as bigint) as "all",
      cast(coalesce(sum(case when ${isMadeOf('risky.source')} then 0 else credit end), 0) as bigint) as strangers,
      cast(coalesce(sum(case when source = $1 then credit end), 0) as bigint) as payer,
      cast(coalesce(sum(case when client = $2 then credit end), 0) as bigint) as client,
      count(case when failed = 1 and (source = $1 or client = $2) then 1 end) as failures,
      case when ${isMadeOf('$1')} then 1 else 0 end as known
    from (
      select source, client, credit, 1 as failed from payments
        where state = 'failed' and settled_amount is not null and updated_at >= $3
      union all
      select source, client, credit, case when state = 'unknown' and reverts > 0 then 1 else 0 end as failed
        from payments
        where state in ('verified', 'produced', 'broadcasting', 'unknown') and client is not null and created_at >= $3
    ) as risky`,
  values: valuesOf<Risk & { source: string }>('source', 'client', 'since'),
  read: onlyOf(
    (
      row: Record<'all' | 'strangers' | 'payer' | 'client' | 'failures', bigint> & { known: bigint | number },
    ) => row,
  ),
});

/**
 * Tells whether a payment must come before the work. A failure closes the other way to its payer and its network, as a debt
 * does to its account; a bound, to those who would exceed it. The caller keeps other payments from being admitted.
 */
function* isTooRisky(payment: Payment, risk: Risk & { source: string }): Steps<boolean> {
  const { limits, accountId } = risk;
  if (accountId !== null && (yield* run(owesForJobs, accountId))) return true;
  const sums = yield* run(sumAtRisk, risk);
  const credit = payment.credit ?? 0n;
  return (
    sums.failures > 0n ||
    sums.all + credit > limits.all ||
    (Number(sums.known) === 0 && sums.strangers + credit > limits.strangers) ||
    sums.payer + credit > limits.each ||
    sums.client + credit > limits.each
  );
}

/** Locks a name until the end of the transaction. Rows that another transaction has not inserted yet cannot be locked. */
const lockName = statement({
  only: 'postgres',
  text: 'select pg_advisory_xact_lock(hashtextextended($1, 0))',
  values: (name: string) => [name],
});

interface OpenAmount {
  state: PaymentState;
  amount: bigint;
  lease_until: bigint | null;
}

/** Lists the source's other payments that can still be settled. The states are written as in their index. */
const listOpenAmounts = statement({
  text: `select state, ${amountColumn} as amount, lease_until from payments
    where source = $1 and network = $2 and asset = $3 and identity <> $4 and created_at > $5
      and state in ('verified', 'produced', 'broadcasting', 'unknown')`,
  values: ({ source, payment, now }: { source: string; payment: Payment; now: number }) => [
    source,
    payment.network,
    payment.asset,
    payment.identity,
    now - neverSettledMs,
  ],
  read: (rows: OpenAmount[]) => rows,
});

/** Counts the reverts of a source's payments on one network, and of those of a caller's network, that changed since then. */
export const countReverts = read({
  text: `select cast(coalesce(sum(reverts), 0) as bigint) as reverts from payments
    where reverts > 0 and updated_at > $3 and (source = $1 and network = $2 or client = $4)`,
  values: valuesOf<{ source: string; network: string; since: number; client: string | null }>(
    'source',
    'network',
    'since',
    'client',
  ),
  read: ([row]: { reverts: bigint }[]) => Number(row?.reverts ?? 0n),
});

const sumOf = (amounts: { amount: bigint }[]): bigint =>
  amounts.reduce((total, { amount }) => total + amount, 0n);

const isUnsent = ({ state, lease_until: leaseUntil }: OpenAmount, now: number): boolean =>
  (state === 'verified' || state === 'produced') && leaseUntil !== null && leaseUntil > now;

export type VerifyPaymentOutcome =
  | { outcome: 'verified'; payment: Payment }
  /** Sums of the other open payments: `unsent` are being worked on, `sent` were sent or given up. */
  | { outcome: 'uncovered'; unsent: bigint; sent: bigint }
  | { outcome: 'too_many_open' }
  | { outcome: 'too_many_reverts' }
  | { outcome: 'too_risky' };

/**
 * Makes the change if `funds` cover this payment and all other open payments from `source` in the same asset. Payments
 * that are a day old do not count, because they can never be settled. Calls for one source run one after another. Null
 * as in `advancePayment`.
 */
export const verifyPayment = writeTransaction(function* (input: {
  /** Applied if the funds cover the payment; it sets `source`. */
  change: AdvancePaymentInput;
  source: string;
  /** A lower bound of what payments can take from `source`, in the asset's smallest unit. */
  funds: bigint;
  /** The most payments from `source` in one asset that are open at once. */
  maxOpen: number;
  /** The number of reverted settlements since `since` that bars a source. */
  reverts: { limit: number; since: number };
  /** Set for a payment that is settled after the work. */
  risk?: Risk | null;
}): Steps<VerifyPaymentOutcome | null> {
  const { change, source, funds, maxOpen, reverts, risk = null } = input;
  yield* run(lockName, `payments from ${source}`);
  const payment = yield* run(getPayment, change.identity);
  if (payment === null) return null;
  const { network } = payment;
  const { client = null } = change.set ?? {};
  const reverted = yield* run(countReverts, { source, network, client, since: reverts.since });
  if (reverted >= reverts.limit) return { outcome: 'too_many_reverts' };
  const open = yield* run(listOpenAmounts, { source, payment, now: change.now });
  if (open.length >= maxOpen) return { outcome: 'too_many_open' };
  if (risk !== null) {
    yield* run(lockName, 'payments after the work');
    if (yield* isTooRisky(payment, { source, ...risk })) return { outcome: 'too_risky' };
  }
  const unsent = sumOf(open.filter((one) => isUnsent(one, change.now)));
  const sent = sumOf(open) - unsent;
  if (payment.amount + unsent + sent > funds) return { outcome: 'uncovered', unsent, sent };
  const verified = yield* run(advancePayment, change);
  return verified === null ? null : { outcome: 'verified', payment: verified };
});
