import type { Stripe } from 'stripe';
import { nanoPerUsd, type Nano } from '../../kit/money.ts';
import type { CardPayment } from '../../store/store.ts';

/** The member of a session's metadata that has our id of the payment. Unlike other names, no link can set it. */
export const paymentMark = 'card_payment';

const nanoPerCent = nanoPerUsd / 100n;
export const toCents = (amount: Nano): number => Number(amount / nanoPerCent);

/** A session with its payment intent and latest charge expanded, and the disputes of that. */
export interface StripePayment {
  session: Stripe.Checkout.Session;
  disputes: readonly Stripe.Dispute[];
}

/** The states of a dispute in which the bank has the money. */
const takenStates = new Set([
  'needs_response',
  'under_review',
  'appeal_needs_response',
  'appeal_under_review',
  'lost',
]);

const intentOf = ({ payment_intent: intent }: Stripe.Checkout.Session): Stripe.PaymentIntent | null =>
  typeof intent === 'object' ? intent : null;

const stateOf = (
  { id, amount, isLive }: CardPayment,
  session: Stripe.Checkout.Session,
): CardPayment['state'] => {
  const intent = intentOf(session);
  if (session.payment_status !== 'paid') {
    if (session.status === 'expired') return 'expired';
    const isRefused = intent?.status === 'requires_payment_method' || intent?.status === 'canceled';
    return session.status === 'complete' && isRefused ? 'failed' : 'open';
  }
  const isAsAsked =
    intent !== null &&
    session.metadata?.[paymentMark] === id &&
    session.amount_total === toCents(amount) &&
    session.currency === 'usd' &&
    session.livemode === isLive;
  return isAsAsked ? 'paid' : 'mismatch';
};

/** Reads what has become of a payment from what Stripe tells of it now. */
export const readStripePayment = (
  payment: CardPayment,
  { session, disputes }: StripePayment,
): Pick<CardPayment, 'state' | 'kept' | 'session' | 'paymentIntent'> => {
  const state = stateOf(payment, session);
  const intent = intentOf(session);
  const charge = intent?.latest_charge;
  const refunded = typeof charge === 'object' ? (charge?.amount_refunded ?? 0) : 0;
  const disputed = disputes.filter(({ status }) => takenStates.has(status));
  const lost = disputed.reduce((sum, { amount }) => sum + amount, refunded);
  const left = payment.amount - BigInt(lost) * nanoPerCent;
  return {
    state,
    kept: state !== 'paid' || left < 0n ? 0n : left,
    session: session.id,
    paymentIntent: intent?.id ?? null,
  };
};
