import type { Engine } from '../engine.ts';

/**
 * The fields are described in `commands/card-payment-table.ts`. `ask_at`: when Stripe is asked about an open payment of
 * which no event came. `expires_at`: when a payment that did not come is removed.
 * `card_events`: up to which event of Stripe all were read.
 * `auto_top_ups`: the fields are described in `commands/auto-top-up-table.ts`. `card_saved_at`: when the last card that was
 * saved was charged on Stripe's page.
 */
export const cardPayments = ({ int64, id, tableEnd }: Engine): string[] => [
  `create table card_payments (
    id ${id} not null primary key,
    account_id ${id} not null references accounts (id),
    kind text not null check (kind in ('checkout', 'saving', 'automatic')),
    state text not null check (state in ('open', 'paid', 'expired', 'failed', 'mismatch')),
    amount ${int64} not null check (amount > 0),
    live ${int64} not null check (live in (0, 1)),
    kept ${int64} not null default 0 check (kept between 0 and amount),
    credited ${int64} not null default 0 check (credited between 0 and amount),
    session text,
    payment_intent ${id} unique,
    customer text,
    payment_method text,
    version ${int64} not null default 0,
    ask_at ${int64},
    expires_at ${int64},
    created_at ${int64} not null,
    updated_at ${int64} not null,
    check (state = 'paid' or (kept = 0 and credited = 0)),
    check (kind <> 'automatic' or (customer is not null and payment_method is not null)),
    check ((state = 'open') = (ask_at is not null)),
    check ((state in ('expired', 'failed')) = (expires_at is not null))
  )${tableEnd}`,
  `create index card_payments_by_age on card_payments (created_at desc, id desc)`,
  `create index card_payments_by_state on card_payments (state, created_at desc, id desc)`,
  `create index card_payments_by_account on card_payments (account_id, created_at desc, id desc)`,
  `create index card_payments_unbooked on card_payments (account_id) where kept <> credited`,
  `create index card_payments_to_ask on card_payments (live, ask_at) where ask_at is not null`,
  `create index card_payments_automatic on card_payments (account_id, created_at) where kind = 'automatic'`,
  `create unique index card_payments_one_attempt on card_payments (account_id)
    where kind = 'automatic' and state = 'open'`,
  `create index card_payments_by_expiry on card_payments (expires_at) where expires_at is not null`,
  `create table card_events (
    name ${id} not null primary key,
    last ${id} not null
  )${tableEnd}`,
  `create table auto_top_ups (
    account_id ${id} not null primary key references accounts (id),
    state text not null check (state in ('off', 'needs_card', 'on', 'stopped')),
    stopped_for text check (stopped_for in ('authentication_required', 'payment_failed', 'taken_back')),
    below ${int64} not null check (below > 0),
    amount ${int64} not null check (amount > 0),
    monthly_cap ${int64} not null check (monthly_cap >= amount),
    customer text,
    payment_method text,
    card text,
    card_saved_at ${int64},
    check ((state = 'stopped') = (stopped_for is not null)),
    check (state <> 'on' or (customer is not null and payment_method is not null))
  )${tableEnd}`,
  `create index auto_top_ups_on on auto_top_ups (account_id) where state = 'on'`,
];
