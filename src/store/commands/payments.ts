import { readBy, run, unlessRaced, write, writeSteps, writeTransaction, type Steps } from '../command.ts';
import { firstOf, statement } from '../statement.ts';
import {
  newPayments,
  payments,
  settable,
  type NewFields,
  type Payment,
  type SettableFields,
} from './payment-table.ts';
import { moveCredit } from './payment-credit.ts';
import { readAvailable } from './ledger-table.ts';
import { debitPledged } from './pledges.ts';
import type { PaymentState } from '../../rules/payments.ts';

export const getPayment = readBy('payments', 'identity', payments);

export const findPaymentById = readBy('payments', 'payment_id', payments);

export interface NewPayment extends NewFields {
  leaseOwner: string;
  leaseUntil: number;
  now: number;
}

/**
 * Inserts the proof, or reserves a rejected one again. Returns no row if it exists in another state, or another payment
 * has its `payment_id`. Two inserts of one new `payment_id` at the same moment violate its unique index.
 */
const insertPayment = statement({
  text: `with given (${newPayments.list()}, now) as (values (${newPayments.casts()}, cast($14 as bigint)))
    insert into payments (${newPayments.list()}, check_at, state, created_at, updated_at)
    select ${newPayments.list()}, lease_until, 'reserved', now, now from given
    where not exists (
      select 1 from payments where payments.payment_id = given.payment_id and payments.identity <> given.identity
    )
    on conflict (identity) do update set ${newPayments.all.map(({ name }) => `${name} = excluded.${name}`).join(', ')},
      check_at = excluded.check_at, state = 'reserved', payer = null, source = null, client = null, result = null,
      transaction_id = null, raw_transaction = null, receipt = null, reason = null, facilitator = null,
      settled_at = null, settled_amount = null,
      job_id = case when payments.request_hash = excluded.request_hash then payments.job_id end,
      updated_at = excluded.updated_at
    where payments.state = 'rejected'
    returning ${payments.list()}`,
  values: ({ now, ...payment }: NewPayment) => [...newPayments.values(payment), now],
  read: firstOf(payments.read),
});

const maxAttempts = 3;

/**
 * Reserves a payment proof by its identity before it is verified. `exists` returns the known payment. A `rejected` one
 * is reserved again, because the reason may be gone. `payment_id_taken`: another proof, which was not refused, has the
 * same buyer's identifier. The reads come after the insert found a row, so they see the commit of that row.
 */
export const reservePayment = writeSteps(function* (
  input: NewPayment,
): Steps<{ outcome: 'reserved' | 'exists' | 'payment_id_taken'; payment: Payment }> {
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const reserved = yield* unlessRaced(run(insertPayment, input));
    if (reserved !== null) return { outcome: 'reserved', payment: reserved };
    const payment = yield* run(getPayment, input.identity);
    if (payment !== null && payment.state !== 'rejected') return { outcome: 'exists', payment };
    const holder = input.paymentId === null ? null : yield* run(findPaymentById, input.paymentId);
    if (holder !== null) return { outcome: 'payment_id_taken', payment: holder };
    // The row that prevented the insert was freed meanwhile.
  }
  throw new Error('a payment was neither inserted nor found');
});

const fixedParameters = 5;

/** Each column that may be set has two parameters: 1 if it changes, and its new value. */
const assignments = settable.all
  .map(({ name, type = 'text' }, index) => {
    const changes = fixedParameters + 1 + index * 2;
    return `${name} = case when $${changes} = 1 then cast($${changes + 1} as ${type}) else ${name} end`;
  })
  .join(', ');

export interface AdvancePaymentInput {
  identity: string;
  from: readonly PaymentState[];
  to: PaymentState;
  owner?: string;
  /** Only these fields change; null clears one. */
  set?: Partial<SettableFields>;
  now: number;
}

/**
 * Moves a payment from one of the states `from` to `to` and sets the fields of `set`, by compare-and-set on the state
 * and, if `owner` is given, on the lease owner. A rejected or failed payment frees its `paymentId`, and the call that it
 * has claimed. Null if the compare-and-set fails.
 */
export const advancePayment = write({
  text: ({ isOneOf }) => `update payments set state = $3, updated_at = $4, ${assignments},
      payment_id = case when cast($3 as text) in ('rejected', 'failed') then null else payment_id end,
      call_claim = case when cast($3 as text) in ('rejected', 'failed') then null else call_claim end
    where identity = $1 and ${isOneOf('state', '$2')}
      and (cast($5 as text) is null or lease_owner = $5)
    returning ${payments.list()}`,
  values: ({ identity, from, to, owner, set = {}, now }: AdvancePaymentInput) => [
    identity,
    JSON.stringify(from),
    to,
    now,
    owner ?? null,
    ...settable.all.flatMap(({ field }) => {
      const value = set[field];
      return value === undefined ? [0, null] : [1, value];
    }),
  ],
  read: firstOf(payments.read),
});

export interface AdvanceCreditInput {
  change: AdvancePaymentInput;
  accountId: string | null;
  /** The id of the entry, if the change posts one. */
  entryId: string;
}

/**
 * As `advancePayment`, for a payment with a `credit`, and keeps the balance of the account in step in the same unit: a
 * payment that becomes settled raises it once; one that is proven not to have happened takes that back, as far as it is
 * not spent or held.
 */
export const advanceCredit = writeTransaction(
  function* ({ change, entryId }: AdvanceCreditInput, kind): Steps<Payment | null> {
    const payment = yield* run(advancePayment, change);
    if (payment === null) return null;
    const { identity, accountId, creditEntry } = payment;
    const moved = yield* moveCredit(payment, { now: change.now, entryId }, kind);
    if (moved.outcome !== 'moved') return payment;
    if (accountId !== null && creditEntry === null && moved.payment.creditEntry !== null) {
      const available = (yield* run(readAvailable, accountId)) ?? 0n;
      const before = available - (moved.payment.credited - payment.credited);
      yield* debitPledged({ accountId, payment: identity, before, now: change.now }, kind);
    }
    return moved.payment;
  },
  { accountOf: ({ accountId }) => accountId },
);
