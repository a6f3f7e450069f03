import { columns, int64, integer, text, time, type RowOf } from '../columns.ts';
import { read, run, write, writeSteps } from '../command.ts';
import { countRows, eachOf, hasRows, statement, valuesOf } from '../statement.ts';
import { amountColumn, payments } from './payment-table.ts';
import type { PaymentState } from '../../rules/payments.ts';

interface DueChecks {
  now: number;
  until: number;
  states?: readonly PaymentState[];
  limit: number;
}

/**
 * Claims payments that are due for a check, longest due first, and moves their next check to `until`, so that two
 * processes do not check the same payment. `states` limits the states.
 */
export const claimPaymentChecks = write({
  text: ({ isOneOf, lockFreeRows }) => `with due as (
      select identity from payments where check_at <= $1 and (cast($4 as text) is null or ${isOneOf('state', '$4')})
      order by check_at limit $3 ${lockFreeRows}
    )
    update payments set check_at = $2 where identity in (select identity from due)
    returning ${payments.list()}`,
  values: valuesOf<DueChecks>('now', 'until', 'limit', 'states'),
  read: eachOf(payments.read),
});

interface OldPayments {
  before: number;
  limit: number;
}

/** Skips a proof that is being reserved again at this moment. */
const deleteRejected = statement({
  text: ({ lockFreeRows }) => `with old as (
      select identity from payments where state = 'rejected' and updated_at < $1
      order by updated_at limit $2 ${lockFreeRows}
    )
    delete from payments where identity in (select identity from old) returning 1 as removed`,
  values: valuesOf<OldPayments>('before', 'limit'),
  read: countRows,
});

/** Does not change `updated_at`, which is the time of delivery. */
const forget = (column: string, condition: string) =>
  statement({
    text: ({ lockFreeRows }) => `with old as (
      select identity from payments where ${condition} and updated_at < $1
      order by updated_at limit $2 ${lockFreeRows}
    )
    update payments set ${column} = null where identity in (select identity from old) returning 1 as removed`,
    values: valuesOf<OldPayments>('before', 'limit'),
    read: countRows,
  });
const forgetAnswers = forget('result', `state in ('delivered', 'failed') and result is not null`);
const forgetClients = forget('client', 'client is not null');

/**
 * Deletes rejected proofs last changed before `rejectedBefore`, and the answers and callers (not the records) of payments
 * last changed before `deliveredBefore`; at most `limit` of each. Returns how many.
 */
export const prunePayments = writeSteps(function* (input: {
  rejectedBefore: number;
  deliveredBefore: number;
  limit: number;
}) {
  const { rejectedBefore, deliveredBefore, limit } = input;
  const deleted = yield* run(deleteRejected, { before: rejectedBefore, limit });
  const old = { before: deliveredBefore, limit };
  return deleted + (yield* run(forgetAnswers, old)) + (yield* run(forgetClients, old));
});

interface Settled {
  from: number;
  to: number;
  after: { settledAt: number; identity: string } | null;
  limit: number;
}

/** Lists payments settled from `from` (inclusive) to `to` (exclusive) by time of settlement, after the row `after`. */
export const listSettledPayments = read({
  isLong: true,
  text: `select ${payments.list()} from payments
    where settled_at >= $1 and settled_at < $2 and (settled_at, identity) > ($3, $4)
    order by settled_at, identity limit $5`,
  values: ({ from, to, after, limit }: Settled) => [
    from,
    to,
    after?.settledAt ?? from,
    // Every identity sorts after the empty text.
    after?.identity ?? '',
    limit,
  ],
  read: eachOf(payments.read),
});

const msPerDay = 86_400_000;

/** A 64-bit sum of an asset with 18 decimals overflows at nine dollars, so amounts are summed in two parts. */
const part = 1_000_000_000n;

const sums = columns({
  network: text(),
  asset: text(),
  day: integer(),
  payments: integer(),
  refunds: integer(),
  amountHigh: int64(),
  amountLow: int64(),
  refundedHigh: int64(),
  refundedLow: int64(),
});

const moves = `select network, asset, settled_at / ${msPerDay} as day, 1 as is_payment,
      ${amountColumn} as amount
    from payments where settled_at >= $1 and settled_at < $2
    union all
    select network, asset, updated_at / ${msPerDay}, 0, amount
    from payment_refunds where state = 'settled' and updated_at >= $1 and updated_at < $2`;

const sumOf = (what: string, isPayment: 0 | 1): string =>
  `cast(sum(case when is_payment = ${isPayment} then ${what} else 0 end) as bigint)`;

/** Sums settlements and refunds, in the asset's smallest unit: one row per network, asset and UTC day, in this order. */
export const sumPayments = read({
  isLong: true,
  text: `select network, asset, day, ${sumOf('1', 1)} as payments, ${sumOf('1', 0)} as refunds,
      ${sumOf(`amount / ${part}`, 1)} as amount_high, ${sumOf(`amount % ${part}`, 1)} as amount_low,
      ${sumOf(`amount / ${part}`, 0)} as refunded_high, ${sumOf(`amount % ${part}`, 0)} as refunded_low
    from (${moves}) as moves
    group by network, asset, day order by network, asset, day`,
  values: valuesOf<{ from: number; to: number }>('from', 'to'),
  read: eachOf((row: Record<string, never>) => {
    const { day, amountHigh, amountLow, refundedHigh, refundedLow, ...sum } = sums.read(row);
    return {
      ...sum,
      /** UTC day of the settlement or refund, such as `2026-11-21`. */
      day: new Date(day * msPerDay).toISOString().slice(0, 10),
      amount: amountHigh * part + amountLow,
      refunded: refundedHigh * part + refundedLow,
    };
  }),
});

export type PaymentSum = ReturnType<typeof sumPayments.read>[number];

const offeredFields = { terms: text(), offeredAt: time() };
export type OfferedTerms = RowOf<typeof offeredFields>;
const offered = columns(offeredFields);

interface Offer extends OfferedTerms {
  fingerprint: string;
  forgetBefore: number;
}

const insertOffer = statement({
  text: `insert into offered_terms (fingerprint, terms, offered_at) values ($1, $2, $3)
    on conflict (fingerprint) do update set offered_at = excluded.offered_at
    where offered_terms.offered_at < excluded.offered_at`,
  values: valuesOf<Offer>('fingerprint', 'terms', 'offeredAt'),
});

const forgetOffers = statement({
  text: 'delete from offered_terms where offered_at < $1',
  values: valuesOf<Offer>('forgetBefore'),
});

/** Stores that terms were offered at a time, and deletes terms last offered before `forgetBefore`. */
export const noteOfferedTerms = writeSteps(function* (offer: Offer) {
  yield* run(insertOffer, offer);
  yield* run(forgetOffers, offer);
});

export const listOfferedTerms = read({
  text: `select ${offered.list()} from offered_terms where offered_at >= $1 order by offered_at desc limit 100`,
  values: valuesOf<{ since: number }>('since'),
  read: eachOf(offered.read),
});

interface AccountLease {
  sender: string;
  owner: string;
}

/** Takes or extends the exclusive lease to send from an account. False if another process has it. */
export const takeAccountLease = write({
  text: `insert into sender_turns (sender, owner, until) values ($1, $2, $3)
    on conflict (sender) do update set owner = excluded.owner, until = excluded.until
    where sender_turns.owner = excluded.owner or sender_turns.until <= $4
    returning 1 as taken`,
  values: valuesOf<AccountLease & { until: number; now: number }>('sender', 'owner', 'until', 'now'),
  read: hasRows,
});

export const endAccountLease = write({
  text: 'delete from sender_turns where sender = $1 and owner = $2',
  values: valuesOf<AccountLease>('sender', 'owner'),
});
