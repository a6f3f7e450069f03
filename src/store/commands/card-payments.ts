import { newId } from '../../kit/ids.ts';
import type { AutoTopUpStop, CardPaymentState } from '../../rules/payments.ts';
import type { Nano } from '../../kit/money.ts';
import { columns, flag } from '../columns.ts';
import {
  read,
  readBy,
  readSteps,
  run,
  sweepExpired,
  write,
  writeTransaction,
  type Steps,
} from '../command.ts';
import { eachOf, firstOf, statement, valuesOf, type EngineKind } from '../statement.ts';
import { saveCard, stopAutoTopUp, type SavedCard } from './auto-top-up-table.ts';
import { cardPaymentFields, cardPayments, type CardPayment } from './card-payment-table.ts';
import { top, type HistoryPosition } from './history-page.ts';
import { post } from './ledger-table.ts';
import { lockAvailable } from './payment-credit.ts';

interface NewCardPayment extends Pick<
  CardPayment,
  'id' | 'accountId' | 'kind' | 'amount' | 'isLive' | 'customer'
> {
  /** When Stripe is asked about it if no event came. */
  askAt: number;
  now: number;
}

/** Writes a payment down before Stripe is asked for it. */
export const addCardPayment = write({
  text: `insert into card_payments (id, account_id, kind, state, amount, live, customer, ask_at, created_at, updated_at)
    values ($1, $2, $3, 'open', $4, $5, $6, $7, $8, $8)`,
  values: valuesOf<NewCardPayment>('id', 'accountId', 'kind', 'amount', 'isLive', 'customer', 'askAt', 'now'),
});

/** Notes the page of a payment before a person gets its address. An event may have told of it already. */
export const noteCardSession = write({
  text: 'update card_payments set session = $2 where id = $1 and session is null',
  values: valuesOf<{ id: string; session: string }>('id', 'session'),
});

const givenNow = 'cast($2 as bigint)';

/**
 * Lists open payments of which no event came for long, oldest first. Each is listed again after as long as it is old, a
 * minute to a day, so those that Stripe does not know delay no others.
 */
export const takeOpenCardPayments = write({
  text: ({ lockFreeRows }) => `with due as (
      select id from card_payments where live = $1 and ask_at <= ${givenNow} order by ask_at limit $3 ${lockFreeRows}
    )
    update card_payments set ask_at = ${givenNow} + case when ${givenNow} - created_at < 60000 then 60000
        when ${givenNow} - created_at > 86400000 then 86400000 else ${givenNow} - created_at end
    where id in (select id from due) returning ${cardPayments.list()}`,
  values: valuesOf<{ isLive: boolean; now: number; limit: number }>('isLive', 'now', 'limit'),
  read: eachOf(cardPayments.read),
});

export const getCardPayment = readBy('card_payments', 'id', cardPayments);
export const findCardPaymentByIntent = readBy('card_payments', 'payment_intent', cardPayments);

const unbookedPayments = columns({ ...cardPaymentFields, hasEntry: flag() });

/** Credits come first: they pay what the account owes. */
const listUnbooked = statement({
  text: `select ${cardPayments.list()},
      case when exists (select 1 from ledger_entries where payment = card_payments.id)
        then cast(1 as bigint) else 0 end as has_entry
    from card_payments where account_id = $1 and kept <> credited order by kept - credited desc, id limit 100`,
  values: (accountId: string) => [accountId],
  read: eachOf(unbookedPayments.read),
});

const addCredited = statement({
  text: 'update card_payments set credited = credited + $2 where id = $1',
  values: valuesOf<{ id: string; amount: Nano }>('id', 'amount'),
});

/**
 * Posts the entries that bring an account in step with its payments by card. What it has spent or holds cannot be taken
 * back now, and stays owed. The caller has the lock on the account, of which `available` can be spent.
 */
function* bookPayments(
  { accountId, available, now }: { accountId: string; available: Nano; now: number },
  kind: EngineKind,
): Steps<void> {
  let left = available;
  for (const { id, kept, credited, hasEntry } of yield* run(listUnbooked, accountId)) {
    const wanted = kept - credited;
    const amount = left + wanted < 0n ? -left : wanted;
    if (amount === 0n) continue;
    const entry = {
      id: newId(),
      accountId,
      type: hasEntry ? 'adjustment' : 'topup',
      amount,
      jobId: null,
      note: `card payment ${id}`,
      payment: id,
      createdAt: now,
    } as const;
    const posted = yield* post(entry, kind);
    if (posted === null) throw new Error(`the entry of card payment ${id} could not be posted`);
    yield* run(addCredited, { id, amount });
    left = posted;
  }
}

/** What Stripe tells of a payment. */
export interface CardPaymentChange extends Pick<
  CardPayment,
  'id' | 'accountId' | 'version' | 'state' | 'kept' | 'session' | 'paymentIntent'
> {
  /** The card that the person let us save with this payment. */
  savedCard: SavedCard | null;
  /** Why the saved card was not charged. */
  failedFor: AutoTopUpStop | null;
  now: number;
}

const at = 'cast($7 as bigint)';

/** A payment that did not come is kept for 30 days, and one that is open again is asked about in a day. */
const change = statement({
  text: `update card_payments set state = $3, kept = $4, session = $5, payment_intent = $6, updated_at = ${at},
      version = version + 1, ask_at = case when $3 = 'open' then coalesce(ask_at, ${at} + 86400000) end,
      expires_at = case when $3 in ('expired', 'failed') then coalesce(expires_at, ${at} + 2592000000) end
    where id = $1 and version = $2 returning ${cardPayments.list()}`,
  values: valuesOf<CardPaymentChange>('id', 'version', 'state', 'kept', 'session', 'paymentIntent', 'now'),
  read: firstOf(cardPayments.read),
});

/** Starts or stops the automatic top-up of the account, as the change of a payment asks for. */
function* followAutoTopUp(before: CardPayment, change: CardPaymentChange): Steps<void> {
  const { accountId, kind, paymentMethod } = before;
  const { savedCard, failedFor } = change;
  if (before.state !== 'paid' && change.state === 'paid' && savedCard !== null)
    yield* run(saveCard, { accountId, ...savedCard });
  if (kind === 'automatic' && before.state === 'open' && failedFor !== null)
    yield* run(stopAutoTopUp, { accountId, stoppedFor: failedFor, paymentMethod });
  // Without this, a refund that leaves a low balance would charge the card again.
  const keptBefore = before.state === 'paid' ? before.kept : before.amount;
  if (change.state === 'paid' && change.kept < keptBefore)
    yield* run(stopAutoTopUp, { accountId, stoppedFor: 'taken_back', paymentMethod: null });
}

/**
 * Writes down what Stripe tells of a payment, and brings the balance of its account and its automatic top-up in step, in
 * one unit. `version`: as it
 * was read before Stripe was asked, so that an older answer never replaces a newer one. Null: it is another by now.
 */
export const changeCardPayment = writeTransaction(
  function* (input: CardPaymentChange, kind): Steps<CardPayment | null> {
    const { accountId, now } = input;
    const available = yield* run(lockAvailable, accountId);
    const before = yield* run(getCardPayment, input.id);
    if (before === null || (yield* run(change, input)) === null) return null;
    yield* followAutoTopUp(before, input);
    yield* bookPayments({ accountId, available, now }, kind);
    return yield* run(getCardPayment, input.id);
  },
  { accountOf: ({ accountId }) => accountId },
);

/** Lists accounts that owe for payments that were taken back, and have something now. */
export const listCardDebtors = read({
  text: `select id from accounts where balance > held
      and id in (select account_id from card_payments where kept <> credited)
    order by id limit $1`,
  values: (limit: number) => [limit],
  read: eachOf(({ id }: { id: string }) => id),
});

/** Takes what an account owes for payments that were taken back, as far as it has it. */
export const takeCardDebts = writeTransaction(
  function* ({ accountId, now }: { accountId: string; now: number }, kind): Steps<void> {
    const available = yield* run(lockAvailable, accountId);
    yield* bookPayments({ accountId, available, now }, kind);
  },
  { accountOf: ({ accountId }) => accountId },
);

/** Removes payments whose money did not come. */
export const sweepCardPayments = sweepExpired('card_payments', 'id');

interface CardPaymentFilter {
  accountId?: string | undefined;
  state?: CardPaymentState | undefined;
  before: HistoryPosition | null;
  limit: number;
}

const page = (filter: string) =>
  statement({
    text: `select ${cardPayments.list()} from card_payments
      where (created_at, id) < ($1, $2) ${filter} order by created_at desc, id desc limit $3`,
    values: ({ before, limit, accountId, state }: CardPaymentFilter) => {
      const { createdAt, id } = before ?? top;
      return [createdAt, id, limit, ...[accountId, state].filter((wanted) => wanted !== undefined)];
    },
    read: eachOf(cardPayments.read),
  });
const pages = {
  all: page(''),
  account: page('and account_id = $4'),
  state: page('and state = $4'),
  both: page('and account_id = $4 and state = $5'),
};

/** Lists payments by card, newest first, after the position `before`. */
export const listCardPayments = readSteps((filter: CardPaymentFilter) => {
  const { accountId, state } = filter;
  if (accountId === undefined) return run(state === undefined ? pages.all : pages.state, filter);
  return run(state === undefined ? pages.account : pages.both, filter);
});

/** Returns the id of the event of Stripe up to which all were read, of live or of test money; null before the first. */
export const findCardEvent = read({
  text: 'select last from card_events where name = $1',
  values: (name: 'live' | 'test') => [name],
  read: firstOf(({ last }: { last: string }) => last),
});

export const noteCardEvent = write({
  text: `insert into card_events (name, last) values ($1, $2) on conflict (name) do update set last = excluded.last`,
  values: valuesOf<{ name: 'live' | 'test'; last: string }>('name', 'last'),
});
