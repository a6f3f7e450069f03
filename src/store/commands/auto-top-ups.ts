import type { Nano } from '../../kit/money.ts';
import { read, readBy, run, write, writeTransaction, type Steps } from '../command.ts';
import { eachOf, firstOf, hasRows, onlyOf, statement, valuesOf } from '../statement.ts';
import { autoTopUps, type AutoTopUp } from './auto-top-up-table.ts';
import { cardPayments, type CardPayment } from './card-payment-table.ts';
import { lockAvailable } from './payment-credit.ts';

export const getAutoTopUp = readBy('auto_top_ups', 'account_id', autoTopUps);

/** Sets the automatic top-up of an account. It starts at once if a card is saved, also after it was stopped. */
export const setAutoTopUp = write({
  text: `insert into auto_top_ups (account_id, state, below, amount, monthly_cap) values ($1, 'needs_card', $2, $3, $4)
    on conflict (account_id) do update set below = excluded.below, amount = excluded.amount,
      monthly_cap = excluded.monthly_cap, stopped_for = null,
      state = case when auto_top_ups.payment_method is null then 'needs_card' else 'on' end`,
  values: valuesOf<Pick<AutoTopUp, 'accountId' | 'below' | 'amount' | 'monthlyCap'>>(
    'accountId',
    'below',
    'amount',
    'monthlyCap',
  ),
});

/** Ends the automatic top-up of an account, and forgets its card. */
export const endAutoTopUp = write({
  text: `update auto_top_ups set state = 'off', stopped_for = null, customer = null, payment_method = null, card = null
    where account_id = $1`,
  values: (accountId: string) => [accountId],
});

const chargedSince = (account: string, month: string): string => `select coalesce(sum(p.amount), 0)
  from card_payments p where p.account_id = ${account} and p.kind = 'automatic' and p.created_at >= ${month}
    and p.state in ('open', 'paid', 'mismatch')`;

/** Sums what automatic top-ups of an account have charged since a time, or may yet charge. Refunds do not lower it. */
export const sumAutoTopUps = read({
  text: `select cast((${chargedSince('$1', '$2')}) as bigint) as charged`,
  values: valuesOf<{ accountId: string; since: number }>('accountId', 'since'),
  read: onlyOf(({ charged }: { charged: Nano }) => charged),
});

interface Due {
  isLive: boolean;
  /** No attempt of the account may be newer. */
  lastBefore: number;
  /** The start of the UTC month. */
  monthStart: number;
}

/** Parameters: $1 live, $2 lastBefore, $3 monthStart. */
const isDue = `t.state = 'on' and c.status = 'active' and c.sandbox <> $1 and c.balance < t.below
  and not exists (select 1 from card_payments p where p.account_id = t.account_id and p.kind = 'automatic'
    and p.created_at > $2)
  and not exists (select 1 from card_payments p where p.account_id = t.account_id and p.kind = 'automatic'
    and p.state = 'open')
  and t.amount + (${chargedSince('t.account_id', '$3')}) <= t.monthly_cap`;

/** Lists accounts whose saved card shall be charged now. */
export const listLowAutoTopUps = read({
  text: `select t.account_id as id from auto_top_ups t join accounts c on c.id = t.account_id
    where ${isDue} order by t.account_id limit $4`,
  values: valuesOf<Due & { limit: number }>('isLive', 'lastBefore', 'monthStart', 'limit'),
  read: eachOf(({ id }: { id: string }) => id),
});

interface NewAttempt extends Due {
  id: string;
  accountId: string;
  /** When Stripe is asked what has become of it. */
  askAt: number;
  now: number;
}

const insertAttempt = statement({
  text: `insert into card_payments
      (id, account_id, kind, state, amount, live, customer, payment_method, ask_at, created_at, updated_at)
    select $4, t.account_id, 'automatic', 'open', t.amount, $1, t.customer, t.payment_method, $6, $7, $7
    from auto_top_ups t join accounts c on c.id = t.account_id where t.account_id = $5 and ${isDue}
    returning ${cardPayments.list()}`,
  values: valuesOf<NewAttempt>('isLive', 'lastBefore', 'monthStart', 'id', 'accountId', 'askAt', 'now'),
  read: firstOf(cardPayments.read),
});

/**
 * Tells whether an attempt that was not sent yet shall still be sent: the account is active, its balance is low, and the
 * automatic top-up is on, with the same card, at least its amount, and a cap that is not passed by it.
 */
export const isAutoTopUpWanted = read({
  text: `select 1 as wanted from card_payments a join auto_top_ups t on t.account_id = a.account_id
      join accounts c on c.id = a.account_id
    where a.id = $1 and a.state = 'open' and t.state = 'on' and t.payment_method = a.payment_method
      and c.status = 'active' and c.balance < t.below and a.amount <= t.amount
      and (${chargedSince('a.account_id', '$2')}) <= t.monthly_cap`,
  values: valuesOf<{ id: string; monthStart: number }>('id', 'monthStart'),
  read: hasRows,
});

/** Writes an attempt down before Stripe is asked to charge the card. Null: the account needs none now. */
export const openAutoTopUp = writeTransaction(
  function* (attempt: NewAttempt): Steps<CardPayment | null> {
    // Another process that opens one at the same moment waits for this lock, and then finds this attempt.
    yield* run(lockAvailable, attempt.accountId);
    return yield* run(insertAttempt, attempt);
  },
  { accountOf: ({ accountId }) => accountId },
);
