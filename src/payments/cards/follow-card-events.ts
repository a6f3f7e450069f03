import type { Stripe } from 'stripe';
import { paymentMark } from './read-stripe-payment.ts';
import { isRefused } from './saved-card-calls.ts';
import { updateCardPayment, type CardContext } from './update-card-payment.ts';

const eventsAtOnce = 50;
const maxEventPages = 1_000;
/** More failures at once are an outage of Stripe. */
const maxFailed = 10;

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

/**
 * Reads the events since the last one that was read, from the newest on, as Stripe lists them. If Stripe has forgotten that
 * one, these are all that it still has. While Stripe fails about a payment, the others are followed, and all are read again.
 */
export const followCardEvents = async (context: CardContext, signal: AbortSignal): Promise<void> => {
  const { store, stripe, settings, log } = context;
  const name = settings.isLive ? 'live' : 'test';
  const last = await store.findCardEvent(name);
  let newest: string | undefined;
  let before: string | undefined;
  let failed = 0;
  for (let page = 0; page < maxEventPages; page += 1) {
    const events = await stripe.listEvents(before, eventsAtOnce, signal);
    newest ??= events[0]?.id;
    const known = events.findIndex(({ id }) => id === last);
    for (const event of known === -1 ? events : events.slice(0, known))
      await takeCardEvent(event, context, signal).catch((error: unknown) => {
        const isFault = !isRefused(error);
        if (isFault) failed += 1;
        if (failed > maxFailed || signal.aborted) throw error;
        const outcome = isFault ? 'could not be taken, and is read again' : 'leads to nothing';
        log.error({ err: error, event: event.id }, `an event of Stripe ${outcome}`);
      });
    if (known !== -1 || events.length < eventsAtOnce) break;
    before = events.at(-1)?.id;
  }
  if (failed === 0 && newest !== undefined && newest !== last)
    await store.noteCardEvent({ name, last: newest });
};
