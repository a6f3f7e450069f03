import { columns, int64, integer, named, orNull, text, time, type RowOf } from '../columns.ts';
import {
  inTransaction,
  read,
  readBy,
  run,
  unlessRaced,
  write,
  writeSteps,
  writeTransaction,
  type Steps,
} from '../command.ts';
import { eachOf, firstOf, hasRows, statement, valuesOf } from '../statement.ts';
import { paidOfHold } from './job-table.ts';
import { buyingJob } from '../../rules/jobs.ts';
import { periodNames } from '../../rules/key-limits.ts';

/**
 * sent: written down before it is sent; it may be known to the upstream. answered: a whole good answer came. lost: the
 * chain has it, and no whole answer came. unused: proven not to have happened, now and in future.
 */
export type BoughtPaymentState = 'sent' | 'answered' | 'lost' | 'unused';

const boughtFields = {
  /** As `Payment.identity`: what the chain accepts only once. */
  identity: text(),
  /** Digest of the upstream, the `buyingJob` and the request. That job never has two that may be taken. */
  request: text(),
  /** The source or provider in the settings, such as `providers.images`. */
  upstream: text(),
  /** The kind of the job, or the operation that is sold. */
  operation: text(),
  jobId: orNull(text()),
  /** The identity of the payment that a buyer made for it; null for none. */
  soldPayment: orNull(text()),
  network: text(),
  asset: text(),
  payTo: text(),
  /** In the asset's smallest unit. */
  amount: int64(),
  /** In nano-dollars, as it counts in the budget of `day`. */
  price: int64(),
  day: text(),
  /** JSON text of the signed proof, in x402 v2 form. */
  payload: text(),
  /** JSON text of the terms that it answers. */
  requirements: text(),
  state: text<BoughtPaymentState>(),
  transaction: named('transaction_id', orNull(text())),
  /** Why there is no answer, for people; null: no reason is known. */
  reason: orNull(text()),
  /** Until then the process that sent it waits for the answer. */
  leaseUntil: time(),
  /** When the chain is asked for its outcome; null for never. */
  checkAt: orNull(time()),
  createdAt: time(),
  updatedAt: time(),
};
export type BoughtPayment = RowOf<typeof boughtFields>;
const bought = columns(boughtFields);

/** SQL for payments of a `buyingJob`. */
const isOfJob = `job_id is not null and operation <> 'search'`;

/** The payment counts for the job, or the payment of a buyer, for which it is sent again. */
interface Resumption extends Pick<
  BoughtPayment,
  'request' | 'operation' | 'jobId' | 'soldPayment' | 'leaseUntil'
> {
  now: number;
  /** A payment that is not of a buying job is taken only if it is younger. */
  createdAfter: number;
}

/**
 * Takes the payment whose proof is to be sent again for a request; null for none. Of a buying job that is every payment
 * that may have happened, as its lease guards it. Otherwise it is one that has no answer and that no process waits for.
 */
export const resumeBoughtPayment = write({
  // A lease that was taken in the same millisecond ends as well: whoever has it compares its time.
  text: `update bought_payments
    set lease_until = case when lease_until = $3 then lease_until + 1 else $3 end, updated_at = $2,
      operation = $5, job_id = $6, sold_payment = $7
    where request = $1 and ((${isOfJob} and state <> 'unused')
      or (not (${isOfJob}) and state = 'sent' and lease_until <= $2 and created_at > $4))
    returning ${bought.list()}`,
  values: valuesOf<Resumption>(
    'request',
    'now',
    'leaseUntil',
    'createdAfter',
    'operation',
    'jobId',
    'soldPayment',
  ),
  read: firstOf(bought.read),
});

export interface NewBoughtPayment extends Omit<
  BoughtPayment,
  'day' | 'state' | 'transaction' | 'reason' | 'createdAt' | 'updatedAt'
> {
  /** In nano-dollars. */
  maxPerDay: bigint;
  now: number;
}

const dayOf = (now: number): string => periodNames(now)[0];

const findOfJob = statement({
  text: `select 1 as found from bought_payments
    where request = $1 and ${isOfJob} and state <> 'unused' limit 1`,
  values: valuesOf<NewBoughtPayment>('request'),
  read: hasRows,
});

/** Answers false where the budget does not suffice. Its row is locked until the end of the transaction. */
const spend = statement({
  text: `insert into bought_days (upstream, day, spent)
    select $1, $2, cast($3 as bigint) where cast($3 as bigint) <= cast($4 as bigint)
    on conflict (upstream, day) do update set spent = bought_days.spent + excluded.spent
      where bought_days.spent + excluded.spent <= cast($4 as bigint)
    returning spent`,
  values: ({ upstream, price, maxPerDay, now }: NewBoughtPayment) => [upstream, dayOf(now), price, maxPerDay],
  read: hasRows,
});

const insert = statement({
  text: `insert into bought_payments (${bought.list()}) values (${bought.parameters()})`,
  values: ({ now, ...payment }: NewBoughtPayment) =>
    bought.values({
      ...payment,
      day: dayOf(now),
      state: 'sent',
      transaction: null,
      reason: null,
      createdAt: now,
      updatedAt: now,
    }),
});

type RecordOutcome = 'recorded' | 'exists' | 'over_budget';

function* recordWithinBudget(payment: NewBoughtPayment): Steps<RecordOutcome> {
  if (buyingJob(payment) !== null && (yield* run(findOfJob, payment))) return 'exists';
  if (!(yield* run(spend, payment))) return 'over_budget';
  yield* run(insert, payment);
  return 'recorded';
}

/**
 * Writes down a payment before it is sent, and counts it in the budget of the day, in one unit. `exists`: the buying
 * job has a payment of this request already. `over_budget`: nothing was written.
 */
export const recordBoughtPayment = writeSteps(function* (payment: NewBoughtPayment): Steps<RecordOutcome> {
  return (yield* unlessRaced(inTransaction(recordWithinBudget(payment)))) ?? 'exists';
});

interface Move {
  identity: string;
  from: readonly BoughtPaymentState[];
  to: BoughtPaymentState;
  transaction: string | null;
  reason: string | null;
  checkAt: number | null;
  /** Changes nothing if another process has taken it up since then; absent: whoever has it. */
  leaseUntil?: number;
  now: number;
}

/** A process that waits for an answer no longer waits after this. */
const move = statement({
  text: ({
    isOneOf,
  }) => `update bought_payments set state = $3, transaction_id = coalesce($4, transaction_id),
      reason = $5, check_at = $6, lease_until = $7, updated_at = $7
    where identity = $1 and ${isOneOf('state', '$2')} and lease_until = coalesce(cast($8 as bigint), lease_until)
    returning ${bought.list()}`,
  values: valuesOf<Move>('identity', 'from', 'to', 'transaction', 'reason', 'checkAt', 'now', 'leaseUntil'),
  read: firstOf(bought.read),
});

const giveBack = statement({
  text: 'update bought_days set spent = spent - $3 where upstream = $1 and day = $2',
  values: valuesOf<BoughtPayment>('upstream', 'day', 'price'),
});

/** Changes a payment by compare-and-set on its state; null if that fails. An unused one leaves the budget of its day. */
export const moveBoughtPayment = writeTransaction(function* (input: Move): Steps<BoughtPayment | null> {
  const moved = yield* run(move, input);
  if (moved?.state === 'unused') yield* run(giveBack, moved);
  return moved;
});

/** Claims payments that are due for a look at the chain, longest due first, and moves their next look to `until`. */
export const claimBoughtChecks = write({
  text: ({ lockFreeRows }) => `with due as (
      select identity from bought_payments where check_at <= $1 and lease_until <= $1
      order by check_at limit $3 ${lockFreeRows}
    )
    update bought_payments set check_at = $2 where identity in (select identity from due)
    returning ${bought.list()}`,
  values: valuesOf<{ now: number; until: number; limit: number }>('now', 'until', 'limit'),
  read: eachOf(bought.read),
});

type BoughtPosition = Pick<BoughtPayment, 'createdAt' | 'identity'>;

/** Lists payments by `createdAt`, then identity, both descending, after the position `before`. */
export const listBoughtPayments = read({
  text: `select ${bought.list()} from bought_payments where (created_at, identity) < ($1, $2)
    order by created_at desc, identity desc limit $3`,
  values: ({ before, limit }: { before: BoughtPosition | null; limit: number }) => [
    before?.createdAt ?? Number.MAX_SAFE_INTEGER,
    before?.identity ?? '',
    limit,
  ],
  read: eachOf(bought.read),
});

export const getBoughtPayment = readBy('bought_payments', 'identity', bought);

const sumFields = {
  operation: text(),
  /** Payments that may have happened. */
  payments: integer(),
  /** What they cost, in nano-dollars. */
  bought: int64(),
  /** What their jobs were debited less refunds, in nano-dollars. Each job counts once. */
  charged: int64(),
  /** How many settled payments of one amount were taken for them; 0 for none. */
  sales: integer(),
  /** The amount, less settled refunds, and the token of each of these payments; null if there is none. */
  soldAmount: orNull(int64()),
  soldNetwork: orNull(text()),
  soldAsset: orNull(text()),
};
export type BoughtSum = RowOf<typeof sumFields>;
const sums = columns(sumFields);

/** Sums up payments of a time by operation, and by the amount and token of the payments that they were sold for. */
export const sumBoughtPayments = read({
  isLong: true,
  text: `with uses as (
      select operation, job_id, sold_payment, count(*) as payments, cast(sum(price) as bigint) as price
      from bought_payments where created_at >= $1 and created_at < $2 and state <> 'unused'
      group by operation, job_id, sold_payment
    ), sold as (
      select u.operation, u.payments, u.price, ${paidOfHold} as charged,
        p.identity, p.network, p.asset, coalesce(p.settled_amount, p.amount) - (
          select cast(coalesce(sum(r.amount), 0) as bigint) from payment_refunds r
          where r.payment = p.identity and r.state = 'settled'
        ) as amount
      from uses u
      left join holds h on h.job_id = u.job_id
      left join payments p on p.identity = u.sold_payment and p.state in ('settled', 'delivered')
    )
    select operation, cast(sum(payments) as bigint) as payments, cast(sum(price) as bigint) as bought,
      cast(coalesce(sum(charged), 0) as bigint) as charged, count(identity) as sales,
      amount as sold_amount, network as sold_network, asset as sold_asset
    from sold group by operation, amount, network, asset order by operation, network, asset, amount`,
  values: valuesOf<{ from: number; to: number }>('from', 'to'),
  read: eachOf(sums.read),
});

/** Lists what is spent on a day, by upstream, in nano-dollars. */
export const listBoughtSpending = read({
  text: `select upstream, spent from bought_days where day = $1 order by upstream`,
  values: (now: number) => [dayOf(now)],
  read: (rows: { upstream: string; spent: bigint }[]) => rows,
});
