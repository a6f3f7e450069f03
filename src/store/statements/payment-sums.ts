import type { CommandInput } from '../commands.ts';
import { paymentColumns, toPayment, type PaymentRow } from '../rows.ts';
import type { Payment, PaymentSum } from '../store.ts';
import { eachOf, type Statement } from './statement.ts';

const msPerDay = 86_400_000;

/** A 64-bit sum of an asset with 18 decimals overflows at nine dollars, so amounts are summed in two parts. */
const part = 1_000_000_000n;

interface SumRow {
  network: string;
  asset: string;
  day: bigint;
  payments: bigint;
  refunds: bigint;
  amount_high: bigint;
  amount_low: bigint;
  refunded_high: bigint;
  refunded_low: bigint;
}

const moves = `select network, asset, settled_at / ${msPerDay} as day, 1 as is_payment, amount
    from payments where settled_at >= $1 and settled_at < $2
    union all
    select network, asset, updated_at / ${msPerDay}, 0, amount
    from payment_refunds where state = 'settled' and updated_at >= $1 and updated_at < $2`;

const sumOf = (what: string, isPayment: 0 | 1): string =>
  `cast(sum(case when is_payment = ${isPayment} then ${what} else 0 end) as bigint)`;

const toSum = (row: SumRow): PaymentSum => ({
  network: row.network,
  asset: row.asset,
  day: new Date(Number(row.day) * msPerDay).toISOString().slice(0, 10),
  payments: Number(row.payments),
  amount: row.amount_high * part + row.amount_low,
  refunds: Number(row.refunds),
  refunded: row.refunded_high * part + row.refunded_low,
});

export const sumPayments: Statement<CommandInput<'sumPayments'>, SumRow, PaymentSum[]> = {
  name: 'sum_payments',
  text: () => `select network, asset, day, ${sumOf('1', 1)} as payments, ${sumOf('1', 0)} as refunds,
      ${sumOf(`amount / ${part}`, 1)} as amount_high, ${sumOf(`amount % ${part}`, 1)} as amount_low,
      ${sumOf(`amount / ${part}`, 0)} as refunded_high, ${sumOf(`amount % ${part}`, 0)} as refunded_low
    from (${moves}) as moves
    group by network, asset, day order by network, asset, day`,
  values: ({ from, to }) => [from, to],
  read: eachOf(toSum),
};

export const listSettledPayments: Statement<CommandInput<'listSettledPayments'>, PaymentRow, Payment[]> = {
  name: 'list_settled_payments',
  text: () => `select ${paymentColumns} from payments
    where settled_at >= $1 and settled_at < $2 and (settled_at, identity) > ($3, $4)
    order by settled_at, identity limit $5`,
  values: ({ from, to, after, limit }) => [
    from,
    to,
    after?.settledAt ?? from,
    // Every identity sorts after the empty text.
    after?.identity ?? '',
    limit,
  ],
  read: eachOf(toPayment),
};
