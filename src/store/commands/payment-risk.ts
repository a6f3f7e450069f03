import type { Nano } from '../../kit/money.ts';
import { run, type Steps } from '../command.ts';
import { onlyOf, statement, valuesOf } from '../statement.ts';
import type { Payment } from './payment-table.ts';
import { owesForJobs } from './wallets.ts';

/**
 * Bounds, in nano-dollars, of the payments that are settled after the work: those that are open, and those that failed at
 * `since` or later. `each`: of one payer, and of one caller's network. `strangers`: of the payers without a settled payment.
 */
export interface Risk {
  limits: Record<'all' | 'strangers' | 'each', Nano>;
  since: number;
  client: string;
  /** The account whose balance the payment raises. */
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
export function* isTooRisky(payment: Payment, risk: Risk & { source: string }): Steps<boolean> {
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
