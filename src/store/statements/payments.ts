import { paymentColumns, toPayment, type PaymentRow } from '../rows.ts';
import type { AdvancePaymentInput, NewPayment, Payment, PaymentState } from '../store.ts';
import { firstOf, type Statement } from './statement.ts';

/**
 * Inserts the proof, or reserves a rejected one again. Returns no row if it exists in another state, or another payment
 * has its `payment_id`. Two inserts of one new `payment_id` at the same moment violate its unique index.
 */
export const reservePayment: Statement<NewPayment, PaymentRow, Payment | null> = {
  name: 'reserve_payment',
  text: () => `insert into payments (identity, request_hash, network, asset, pay_to, amount, payload, requirements,
      lease_owner, lease_until, check_at, payment_id, state, created_at, updated_at)
    select cast($1 as text), cast($2 as text), cast($3 as text), cast($4 as text), cast($5 as text),
      cast($6 as bigint), cast($7 as text), cast($8 as text), cast($9 as text), cast($10 as bigint),
      cast($10 as bigint), cast($12 as text), 'reserved', cast($11 as bigint), cast($11 as bigint)
    where not exists (select 1 from payments where payment_id = $12 and identity <> $1)
    on conflict (identity) do update set
      request_hash = excluded.request_hash, network = excluded.network, asset = excluded.asset,
      pay_to = excluded.pay_to, amount = excluded.amount, payload = excluded.payload,
      requirements = excluded.requirements, lease_owner = excluded.lease_owner,
      lease_until = excluded.lease_until, check_at = excluded.check_at, payment_id = excluded.payment_id,
      state = 'reserved', payer = null, source = null, result = null, transaction_id = null, raw_transaction = null,
      receipt = null, reason = null, facilitator = null, settled_at = null, unchecked = 0,
      updated_at = excluded.updated_at
    where payments.state = 'rejected'
    returning ${paymentColumns}`,
  values: (payment) => [
    payment.identity,
    payment.requestHash,
    payment.network,
    payment.asset,
    payment.payTo,
    payment.amount,
    payment.payload,
    payment.requirements,
    payment.leaseOwner,
    payment.leaseUntil,
    payment.now,
    payment.paymentId,
  ],
  read: firstOf(toPayment),
};

type SettableField = keyof NonNullable<AdvancePaymentInput['set']>;

const settable = [
  ['payer', 'payer'],
  ['source', 'source'],
  ['result', 'result'],
  ['transaction', 'transaction_id'],
  ['rawTransaction', 'raw_transaction'],
  ['receipt', 'receipt'],
  ['reason', 'reason'],
  ['leaseOwner', 'lease_owner'],
  ['leaseUntil', 'lease_until'],
  ['facilitator', 'facilitator'],
  ['checkAt', 'check_at'],
  ['settledAt', 'settled_at'],
  ['isUnchecked', 'unchecked'],
] as const satisfies readonly (readonly [SettableField, string])[];
const fixedParameters = 5;
const numbers: ReadonlySet<string> = new Set(['lease_until', 'check_at', 'settled_at', 'unchecked']);

/** Each settable column has two parameters: 1 if it changes, and its new value. */
const assignments = settable
  .map(([, column], index) => {
    const changes = fixedParameters + 1 + index * 2;
    const type = numbers.has(column) ? 'bigint' : 'text';
    return `${column} = case when $${changes} = 1 then cast($${changes + 1} as ${type}) else ${column} end`;
  })
  .join(', ');

export const advancePayment: Statement<AdvancePaymentInput, PaymentRow, Payment | null> = {
  name: 'advance_payment',
  text: (dialect) => `update payments set state = $3, updated_at = $4, ${assignments},
      payment_id = case when cast($3 as text) in ('rejected', 'failed') then null else payment_id end
    where identity = $1 and ${dialect.isOneOf('state', '$2')}
      and (cast($5 as text) is null or lease_owner = $5)
    returning ${paymentColumns}`,
  values: ({ identity, from, to, owner, set = {}, now }) => [
    identity,
    JSON.stringify(from),
    to,
    now,
    owner ?? null,
    ...settable.flatMap(([field]) => {
      const value = set[field];
      return value === undefined ? [0, null] : [1, typeof value === 'boolean' ? Number(value) : value];
    }),
  ],
  read: firstOf(toPayment),
};

interface AmountRow {
  amount: bigint;
}

interface OpenAmountRow extends AmountRow {
  state: PaymentState;
  lease_until: bigint | null;
}

/** Lists the other open payments of the source since `since`. The states are written as in the index for these rows. */
export const listOpenAmounts: Statement<
  { identity: string; source: string; network: string; asset: string; since: number },
  OpenAmountRow,
  { state: PaymentState; amount: bigint; leaseUntil: number | null }[]
> = {
  name: 'list_open_amounts',
  text: () => `select state, amount, lease_until from payments
    where source = $1 and network = $2 and asset = $3 and identity <> $4 and created_at > $5
      and state in ('verified', 'produced', 'broadcasting', 'unknown')`,
  values: ({ identity, source, network, asset, since }) => [source, network, asset, identity, since],
  read: (rows) =>
    rows.map(({ state, amount, lease_until: leaseUntil }) => ({
      state,
      amount,
      leaseUntil: leaseUntil === null ? null : Number(leaseUntil),
    })),
};

/** Lists payments that were delivered because a facilitator said so, and that no node has confirmed. */
export const listUncheckedAmounts: Statement<{ network: string; asset: string }, AmountRow, AmountRow[]> = {
  name: 'list_unchecked_amounts',
  text: () => `select amount from payments where unchecked = 1 and network = $1 and asset = $2`,
  values: ({ network, asset }) => [network, asset],
  read: (rows) => rows,
};

export const getPayment: Statement<string, PaymentRow, Payment | null> = {
  name: 'get_payment',
  text: () => `select ${paymentColumns} from payments where identity = $1`,
  values: (identity) => [identity],
  read: firstOf(toPayment),
};

export const findPaymentById: Statement<string, PaymentRow, Payment | null> = {
  name: 'find_payment_by_id',
  text: () => `select ${paymentColumns} from payments where payment_id = $1`,
  values: (paymentId) => [paymentId],
  read: firstOf(toPayment),
};
