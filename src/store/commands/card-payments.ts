import { newId } from '../../kit/ids.ts';
import type { CardPaymentState } from '../../rules/payments.ts';
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
import { cardPaymentFields, cardPayments, type CardPayment } from './card-payment-table.ts';
import { top, type HistoryPosition } from './history-page.ts';
import { post } from './ledger-table.ts';
import { lockAvailable } from './payment-credit.ts';

interface NewCardPayment extends Pick<CardPayment, 'id' | 'accountId' | 'amount' | 'isLive'> {
  /** When it is removed if the money has not come. */
  expiresAt: number;
  now: number;
}

/** Writes a payment down before Stripe is asked for it. */
export const addCardPayment = write({
  text: `insert into card_payments (id, account_id, state, amount, live, expires_at, created_at, updated_at)
    values ($1, $2, 'open', $3, $4, $5, $6, $6)`,
  values: valuesOf<NewCardPayment>('id', 'accountId', 'amount', 'isLive', 'expiresAt', 'now'),
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
  now: number;
}

const change = statement({
  text: `update card_payments set state = $3, kept = $4, session = $5, payment_intent = $6, updated_at = $7,
      version = version + 1, expires_at = case when $3 in ('paid', 'mismatch') then null else expires_at end
    where id = $1 and version = $2 returning ${cardPayments.list()}`,
  values: valuesOf<CardPaymentChange>('id', 'version', 'state', 'kept', 'session', 'paymentIntent', 'now'),
  read: firstOf(cardPayments.read),
});

/**
 * Writes down what Stripe tells of a payment, and brings the balance of its account in step, in one unit. `version`: as it
 * was read before Stripe was asked, so that an older answer never replaces a newer one. Null: it is another by now.
 */
export const changeCardPayment = writeTransaction(
  function* (input: CardPaymentChange, kind): Steps<CardPayment | null> {
    const { accountId, now } = input;
    const available = yield* run(lockAvailable, accountId);
    if ((yield* run(change, input)) === null) return null;
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
