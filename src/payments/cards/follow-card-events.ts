import type { Stripe } from 'stripe';
import { paymentMark } from './read-stripe-payment.ts';
import { isRefused } from './saved-card-calls.ts';
import { updateCardPayment, type CardContext } from './update-card-payment.ts';

const eventsAtOnce = 100;
const maxEventPages = 50;

/** Brings the payment of an event up to date. The order of events, and how often they come, does not matter. */
export const takeCardEvent = async (
  { data: { object } }: Stripe.Event,
  context: CardContext,
  signal?: AbortSignal,
): Promise<void> => {
  // Stripe has these objects in the events that are about payments.
  const about = object as
    | Stripe.Checkout.Session
    | Stripe.PaymentIntent
    | Stripe.Charge
    | Stripe.Refund
    | Stripe.Dispute;
  if (about.object === 'checkout.session' || about.object === 'payment_intent') {
    const id = about.metadata?.[paymentMark];
    const names = about.object === 'payment_intent' ? { intent: about.id } : { session: about.id };
    if (id !== undefined) await updateCardPayment({ id, ...names }, context, signal);
    return;
  }
  const { payment_intent: intent } = about;
  const name = typeof intent === 'string' ? intent : intent?.id;
  // Of an intent that is not known yet, the event of its session tells all.
  const payment = name === undefined ? null : await context.store.findCardPaymentByIntent(name);
  if (payment !== null) await updateCardPayment({ id: payment.id }, context, signal);
};

/** Reads the events that came since the last time; at first, and after a long outage, all that Stripe still has. */
export const followCardEvents = async (context: CardContext, signal: AbortSignal): Promise<void> => {
  const { store, stripe, settings } = context;
  const name = settings.isLive ? 'live' : 'test';
  for (let page = 0; page < maxEventPages; page += 1) {
    const last = await store.findCardEvent(name);
    const events =
      last === null
        ? null
        : await stripe.listEvents({ after: last }, eventsAtOnce, signal).catch((error: unknown) => {
            if (!isRefused(error)) throw error;
            return null;
          });
    if (events === null) return readKeptEvents(name, context, signal);
    await takeEvents(events.toReversed(), context, signal);
    if (events[0] !== undefined) await store.noteCardEvent({ name, last: events[0].id });
    if (events.length < eventsAtOnce) return;
  }
};

/** Reads events from the newest to the oldest: Stripe lists them so, and nothing depends on their order. */
const readKeptEvents = async (
  name: 'live' | 'test',
  context: CardContext,
  signal: AbortSignal,
): Promise<void> => {
  let newest: string | undefined;
  let before: string | undefined;
  for (let page = 0; page < maxEventPages; page += 1) {
    const events = await context.stripe.listEvents({ before }, eventsAtOnce, signal);
    newest ??= events[0]?.id;
    await takeEvents(events, context, signal);
    if (events.length < eventsAtOnce) break;
    before = events.at(-1)?.id;
  }
  if (newest !== undefined) await context.store.noteCardEvent({ name, last: newest });
};

const takeEvents = async (
  events: readonly Stripe.Event[],
  context: CardContext,
  signal: AbortSignal,
): Promise<void> => {
  for (const event of events)
    await takeCardEvent(event, context, signal).catch((error: unknown) => {
      if (!isRefused(error)) throw error;
      context.log.error({ err: error, event: event.id }, 'an event of Stripe leads to nothing');
    });
};
