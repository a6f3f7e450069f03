import type { CommandInput } from '../commands.ts';
import { paymentColumns, toPayment, type PaymentRow } from '../rows.ts';
import type { OfferedTerms, Payment } from '../store.ts';
import { eachOf, type Statement } from './statement.ts';

export const claimPaymentChecks: Statement<CommandInput<'claimPaymentChecks'>, PaymentRow, Payment[]> = {
  name: 'claim_payment_checks',
  text: ({ isOneOf, lockFreeRows }) => `with due as (
      select identity from payments where check_at <= $1 and (cast($4 as text) is null or ${isOneOf('state', '$4')})
      order by check_at limit $3 ${lockFreeRows}
    )
    update payments set check_at = $2 where identity in (select identity from due)
    returning ${paymentColumns}`,
  values: ({ now, until, states, limit }) => [
    now,
    until,
    limit,
    states === undefined ? null : JSON.stringify(states),
  ],
  read: eachOf(toPayment),
};

interface PruneInput {
  before: number;
  limit: number;
}

/** Skips a proof that is being reserved again at this moment. */
export const deleteRejectedPayments: Statement<PruneInput, unknown, number> = {
  name: 'delete_rejected_payments',
  text: ({ lockFreeRows }) => `with old as (
      select identity from payments where state = 'rejected' and updated_at < $1
      order by updated_at limit $2 ${lockFreeRows}
    )
    delete from payments where identity in (select identity from old) returning 1 as removed`,
  values: ({ before, limit }) => [before, limit],
  read: (rows) => rows.length,
};

/** Does not change `updated_at`, which is the time of delivery. */
export const forgetPaymentAnswers: Statement<PruneInput, unknown, number> = {
  name: 'forget_payment_answers',
  text: ({ lockFreeRows }) => `with old as (
      select identity from payments where state = 'delivered' and result is not null and updated_at < $1
      order by updated_at limit $2 ${lockFreeRows}
    )
    update payments set result = null where identity in (select identity from old) returning 1 as removed`,
  values: ({ before, limit }) => [before, limit],
  read: (rows) => rows.length,
};

export const noteOfferedTerms: Statement<CommandInput<'noteOfferedTerms'>, unknown, void> = {
  name: 'note_offered_terms',
  text: () => `insert into offered_terms (fingerprint, terms, offered_at) values ($1, $2, $3)
    on conflict (fingerprint) do update set offered_at = excluded.offered_at
    where offered_terms.offered_at < excluded.offered_at`,
  values: ({ fingerprint, terms, offeredAt }) => [fingerprint, terms, offeredAt],
  read: () => undefined,
};

export const forgetOfferedTerms: Statement<CommandInput<'noteOfferedTerms'>, unknown, void> = {
  name: 'forget_offered_terms',
  text: () => 'delete from offered_terms where offered_at < $1',
  values: ({ forgetBefore }) => [forgetBefore],
  read: () => undefined,
};

interface OfferedTermsRow {
  terms: string;
  offered_at: bigint;
}

export const listOfferedTerms: Statement<
  CommandInput<'listOfferedTerms'>,
  OfferedTermsRow,
  OfferedTerms[]
> = {
  name: 'list_offered_terms',
  text: () =>
    'select terms, offered_at from offered_terms where offered_at >= $1 order by offered_at desc limit 100',
  values: ({ since }) => [since],
  read: eachOf((row: OfferedTermsRow) => ({ terms: row.terms, offeredAt: Number(row.offered_at) })),
};

export const takeAccountLease: Statement<CommandInput<'takeAccountLease'>, unknown, boolean> = {
  name: 'take_sender_turn',
  text: () => `insert into sender_turns (sender, owner, until) values ($1, $2, $3)
    on conflict (sender) do update set owner = excluded.owner, until = excluded.until
    where sender_turns.owner = excluded.owner or sender_turns.until <= $4
    returning 1 as taken`,
  values: ({ sender, owner, until, now }) => [sender, owner, until, now],
  read: (rows) => rows.length > 0,
};

export const endAccountLease: Statement<CommandInput<'endAccountLease'>, unknown, void> = {
  name: 'end_sender_turn',
  text: () => 'delete from sender_turns where sender = $1 and owner = $2',
  values: ({ sender, owner }) => [sender, owner],
  read: () => undefined,
};
