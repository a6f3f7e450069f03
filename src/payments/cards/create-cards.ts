import type { Stripe } from 'stripe';
import type { Clock } from '../../kit/clock.ts';
import { AppError } from '../../kit/errors.ts';
import { newId } from '../../kit/ids.ts';
import type { Log } from '../../kit/log.ts';
import { formatUsd, type Nano } from '../../kit/money.ts';
import { repeat } from '../../kit/repeat.ts';
import type { CardPayment, Store } from '../../store/store.ts';
import type { CardSettings } from './card-settings.ts';
import { paymentMark, readStripePayment } from './read-stripe-payment.ts';
import { createStripeClient, isRefused, type StripeAddress, type StripeClient } from './stripe-client.ts';

export interface CardsOptions {
  settings: CardSettings;
  store: Pick<
    Store,
    | 'addCardPayment'
    | 'getCardPayment'
    | 'findCardPaymentByIntent'
    | 'changeCardPayment'
    | 'listCardDebtors'
    | 'takeCardDebts'
    | 'findCardEvent'
    | 'noteCardEvent'
    | 'sweepCardPayments'
  >;
  clock: Clock;
  log: Log;
  /** Names the goods on Stripe's page. */
  goods: string;
  address?: StripeAddress | undefined;
}

type Context = CardsOptions & { stripe: StripeClient };

export interface CardOrder {
  accountId: string;
  isSandbox: boolean;
  amount: Nano;
  /** Where Stripe sends the person afterwards. */
  returnUrl: string;
}

/** Sells top-ups by Stripe Checkout. */
export interface Cards {
  /** Returns our id of the payment, and the page of Stripe where a person pays. Throws AppError. */
  checkout(order: CardOrder): Promise<{ id: string; url: string }>;
  /** Takes an event in the bytes that Stripe has signed. Throws AppError `invalid_value` for those of others. */
  takeEvent(body: Buffer, signature: string): Promise<void>;
  /** Reads again and again the events that did not arrive, and takes what accounts owe. */
  begin(signal: AbortSignal): Promise<void>;
}

const followEveryMs = 60_000;
const eventsAtOnce = 100;
const maxEventPages = 50;
const debtorsAtOnce = 100;
const sweptAtOnce = 1_000;
/** A session ends after a day. What is not paid by card at once is settled within two weeks. */
const keptOpenMs = 30 * 86_400_000;
const maxReads = 10;

export const createCards = (options: CardsOptions): Cards => {
  const { settings, log } = options;
  const context: Context = {
    ...options,
    stripe: createStripeClient(settings.secretKey, options.address),
  };
  return {
    checkout: (order) => openCheckout(order, context),
    takeEvent: async (body, signature) => {
      const { stripe } = context;
      const event = await stripe
        .readEvent(body, signature, settings.webhookSecret)
        .catch((cause: unknown) => {
          throw new AppError(
            'invalid_value',
            'The signature is missing, wrong or old. Only Stripe sends events, signed by STRIPE_WEBHOOK_SECRET.',
            { cause },
          );
        });
      if (stripe.isAboutPayments(event)) await takeEvent(event, context);
    },
    begin: (signal) =>
      repeat({
        what: 'following the payments by card',
        intervalMs: followEveryMs,
        signal,
        log,
        work: () => followPayments(context, signal),
      }),
  };
};

const openCheckout = async (
  { accountId, isSandbox, amount, returnUrl }: CardOrder,
  { settings: { isLive }, store, clock, stripe, goods }: Context,
): Promise<{ id: string; url: string }> => {
  if (isLive === isSandbox)
    throw new AppError(
      'permission_denied',
      isLive
        ? 'This account has sandbox credit, which is not sold. Use an account for real money.'
        : 'Only test cards are taken here, and they pay sandbox credit. Use a sandbox account.',
    );
  const id = newId();
  const now = clock.now();
  await store.addCardPayment({ id, accountId, amount, isLive, expiresAt: now + keptOpenMs, now });
  const { url } = await stripe.openSession({ id, amount, goods, returnUrl }).catch((cause: unknown) => {
    throw new AppError(
      'upstream_error',
      'The card service did not answer as it should. Nothing was charged. Try again.',
      { cause },
    );
  });
  if (url === null) throw new Error(`the session of card payment ${id} has no address`);
  return { id, url };
};

/** Brings the payment of an event up to date. The order of events, and how often they come, does not matter. */
const takeEvent = async (
  { data: { object } }: Stripe.Event,
  context: Context,
  signal?: AbortSignal,
): Promise<void> => {
  const { store } = context;
  // Stripe has these objects in the events that are about payments.
  const about = object as Stripe.Checkout.Session | Stripe.Charge | Stripe.Refund | Stripe.Dispute;
  if (about.object === 'checkout.session') {
    const id = about.metadata?.[paymentMark];
    if (id !== undefined) await updatePayment({ id, session: about.id }, context, signal);
    return;
  }
  const { payment_intent: intent } = about;
  const name = typeof intent === 'string' ? intent : intent?.id;
  // Of an intent that is not known yet, the event of its session tells all.
  const payment = name === undefined ? null : await store.findCardPaymentByIntent(name);
  if (payment?.session) await updatePayment({ id: payment.id, session: payment.session }, context, signal);
};

/**
 * Asks Stripe what has become of a payment, and writes that down. An event is only the reason to ask, so that none is taken
 * twice, and a late one undoes nothing.
 */
const updatePayment = async (
  { id, session }: { id: string; session: string },
  { store, stripe, clock, log }: Context,
  signal?: AbortSignal,
): Promise<void> => {
  for (let reads = 0; reads < maxReads; reads += 1) {
    const payment = await store.getCardPayment(id);
    // Another gateway may use the same account at Stripe.
    if (payment === null) return;
    const told = readStripePayment(payment, await stripe.readPayment(payment.session ?? session, signal));
    const changed = await store.changeCardPayment({ ...payment, ...told, now: clock.now() });
    if (changed !== null) return logChange(payment, changed, log);
  }
  throw new Error(`card payment ${id} changes faster than it can be read`);
};

const logChange = (before: CardPayment, after: CardPayment, log: Log): void => {
  const { id, accountId, state, kept, credited } = after;
  if (before.state === state && before.kept === kept) return;
  const facts = { cardPayment: id, accountId, keptUsd: formatUsd(kept), owedUsd: formatUsd(credited - kept) };
  if (state === 'mismatch')
    log.error(facts, 'a card payment is not what was asked for, and was not credited: see it at Stripe');
  else log.info(facts, `a card payment is ${state}`);
};

const followPayments = async (context: Context, signal: AbortSignal): Promise<void> => {
  const { store, clock } = context;
  const now = clock.now();
  await store.sweepCardPayments({ now, limit: sweptAtOnce });
  for (const accountId of await store.listCardDebtors(debtorsAtOnce))
    await store.takeCardDebts({ accountId, now });
  for (let page = 0; page < maxEventPages; page += 1) if (!(await readEvents(context, signal))) return;
};

/** Reads the events after the last one that was read. Returns whether there may be more. */
const readEvents = async (context: Context, signal: AbortSignal): Promise<boolean> => {
  const { store, stripe, settings, log } = context;
  const name = settings.isLive ? 'live' : 'test';
  const last = await store.findCardEvent(name);
  const events = await stripe.listEvents(last, eventsAtOnce, signal).catch(async (error: unknown) => {
    if (last === null || !isRefused(error)) throw error;
    log.warn({ err: error, last }, 'Stripe no longer knows the last event: only its newest ones are read');
    return stripe.listEvents(null, eventsAtOnce, signal);
  });
  for (const event of events)
    await takeEvent(event, context, signal).catch((error: unknown) => {
      if (!isRefused(error)) throw error;
      log.error({ err: error, event: event.id }, 'an event of Stripe leads to nothing');
    });
  const newest = events.at(-1);
  if (newest !== undefined) await store.noteCardEvent({ name, last: newest.id });
  return last !== null && events.length === eventsAtOnce;
};
