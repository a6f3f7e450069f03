import type { Engine } from '../engine.ts';

/**
 * The fields are described in `commands/card-payment-table.ts`. `expires_at`: when a payment that did not come is removed.
 * `card_events`: up to which event of Stripe all were read.
 */
export const cardPayments = ({ int64, id, tableEnd }: Engine): string[] => [
  `create table card_payments (
    id ${id} not null primary key,
    account_id ${id} not null references accounts (id),
    state text not null check (state in ('open', 'paid', 'expired', 'failed', 'mismatch')),
    amount ${int64} not null check (amount > 0),
    live ${int64} not null check (live in (0, 1)),
    kept ${int64} not null default 0 check (kept between 0 and amount),
    credited ${int64} not null default 0 check (credited between 0 and amount),
    session text,
    payment_intent ${id} unique,
    version ${int64} not null default 0,
    expires_at ${int64},
    created_at ${int64} not null,
    updated_at ${int64} not null,
    check (state = 'paid' or (kept = 0 and credited = 0)),
    check (state not in ('paid', 'mismatch') or expires_at is null)
  )${tableEnd}`,
  `create index card_payments_by_age on card_payments (created_at desc, id desc)`,
  `create index card_payments_by_state on card_payments (state, created_at desc, id desc)`,
  `create index card_payments_by_account on card_payments (account_id, created_at desc, id desc)`,
  `create index card_payments_unbooked on card_payments (account_id) where kept <> credited`,
  `create index card_payments_by_expiry on card_payments (expires_at) where expires_at is not null`,
  `create table card_events (
    name ${id} not null primary key,
    last ${id} not null
  )${tableEnd}`,
];
