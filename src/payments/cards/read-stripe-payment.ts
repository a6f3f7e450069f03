import type { Stripe } from 'stripe';
import { nanoPerUsd, type Nano } from '../../kit/money.ts';
import type { AutoTopUpStop } from '../../rules/payments.ts';
import type { CardPayment, CardPaymentChange } from '../../store/store.ts';

/** The member of a session's or intent's metadata that has our id of the payment. Unlike other names, no link can set it. */
export const paymentMark = 'card_payment';

const nanoPerCent = nanoPerUsd / 100n;
export const toCents = (amount: Nano): number => Number(amount / nanoPerCent);

/** What Stripe has of a payment: its payment intent with the latest charge expanded, and the disputes of that. */
export interface StripePayment {
  /** Null: it was charged without a page. */
  session: Stripe.Checkout.Session | null;
  /** Null: nobody has tried to pay on the page. */
  intent: Stripe.PaymentIntent | null;
  disputes: readonly Stripe.Dispute[];
}

/** What is written down of it. */
export type ToldPayment = Omit<CardPaymentChange, 'id' | 'accountId' | 'version' | 'now'>;

/** The states of a dispute in which the bank has the money. */
const takenStates = new Set([
  'needs_response',
  'under_review',
  'appeal_needs_response',
  'appeal_under_review',
  'lost',
]);

/** A prevented dispute is one that took the money, or one that led to a refund, which counts as such. */
const hasTaken = ({ status, balance_transactions: moves }: Stripe.Dispute): boolean =>
  takenStates.has(status) ||
  (status === 'prevented' && moves.reduce((sum, { amount }) => sum + amount, 0) < 0);

/** The states of an intent that is not paid unless a person does something. */
const endedStates = new Set([
  'requires_payment_method',
  'requires_confirmation',
  'requires_action',
  'canceled',
]);

const isAsAsked = (
  { id, amount, isLive }: CardPayment,
  { metadata, currency, livemode }: Pick<Stripe.Checkout.Session, 'metadata' | 'currency' | 'livemode'>,
  cents: number | null,
): boolean =>
  metadata?.[paymentMark] === id && cents === toCents(amount) && currency === 'usd' && livemode === isLive;

const stateOfSession = (
  payment: CardPayment,
  session: Stripe.Checkout.Session,
  intent: Stripe.PaymentIntent | null,
): CardPayment['state'] => {
  if (session.payment_status === 'paid')
    return intent !== null && isAsAsked(payment, session, session.amount_total) ? 'paid' : 'mismatch';
  if (session.status === 'expired') return 'expired';
  const isRefused = intent?.status === 'requires_payment_method' || intent?.status === 'canceled';
  return session.status === 'complete' && isRefused ? 'failed' : 'open';
};

const stateOfIntent = (payment: CardPayment, intent: Stripe.PaymentIntent | null): CardPayment['state'] => {
  if (intent?.status === 'succeeded')
    return isAsAsked(payment, intent, intent.amount_received) ? 'paid' : 'mismatch';
  return endedStates.has(intent?.status ?? '') ? 'failed' : 'open';
};

const failureOf = (
  state: CardPayment['state'],
  intent: Stripe.PaymentIntent | null,
): AutoTopUpStop | null => {
  if (state !== 'failed' && state !== 'mismatch') return null;
  const { code, decline_code: declined } = intent?.last_payment_error ?? {};
  return intent?.status === 'requires_action' || [code, declined].includes('authentication_required')
    ? 'authentication_required'
    : 'payment_failed';
};

const cardOf = (
  { kind }: CardPayment,
  { session, intent }: StripePayment,
): CardPaymentChange['savedCard'] => {
  const [customer, method] = [session?.customer, intent?.payment_method];
  if (kind !== 'saving' || typeof customer !== 'string' || typeof method !== 'string') return null;
  const charge = intent?.latest_charge;
  if (typeof charge !== 'object' || charge === null) return null;
  const { card } = charge.payment_method_details ?? {};
  return {
    customer,
    paymentMethod: method,
    card: `${card?.brand ?? 'card'} ${card?.last4 ?? ''}`.trim(),
    savedAt: charge.created * 1_000,
  };
};

/** Reads what has become of a payment from what Stripe tells of it now. */
export const readStripePayment = (payment: CardPayment, told: StripePayment): ToldPayment => {
  const { session, intent, disputes } = told;
  const now = session === null ? stateOfIntent(payment, intent) : stateOfSession(payment, session, intent);
  // What was paid stays so: only refunds and disputes take it back.
  const state = payment.state === 'paid' ? 'paid' : now;
  const charge = intent?.latest_charge;
  const refunded = typeof charge === 'object' ? (charge?.amount_refunded ?? 0) : 0;
  const lost = disputes.filter(hasTaken).reduce((sum, { amount }) => sum + amount, refunded);
  const left = payment.amount - BigInt(lost) * nanoPerCent;
  return {
    state,
    kept: state !== 'paid' || left < 0n ? 0n : left,
    session: session?.id ?? null,
    paymentIntent: intent?.id ?? null,
    savedCard: cardOf(payment, told),
    failedFor: failureOf(state, intent),
  };
};

/** Of a payment that Stripe does not have. `isOver`: Stripe will not have it, either. */
export const readNoPayment = (
  { state, session, paymentIntent }: CardPayment,
  isOver: boolean,
): ToldPayment => ({
  state: isOver && state === 'open' ? 'expired' : state,
  kept: 0n,
  session,
  paymentIntent,
  savedCard: null,
  failedFor: null,
});
