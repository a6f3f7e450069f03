import type { Stripe } from 'stripe';
import { instead } from '../../kit/errors.ts';
import type { Nano } from '../../kit/money.ts';
import { paymentMark, toCents } from './read-stripe-payment.ts';

/** Calls Stripe within a limit of time. */
export type AskStripe = <T>(call: (stripe: Stripe) => Promise<T>, signal?: AbortSignal) => Promise<T>;

const isOfType = (error: unknown, type: string): error is Stripe.errors.StripeError =>
  error instanceof Error && 'type' in error && error.type === type;

/** Whether Stripe answers that a request cannot be met, as one that names something unknown. One under way is a 409. */
export const isRefused = (error: unknown): boolean =>
  isOfType(error, 'StripeInvalidRequestError') && [400, 404].includes(error.statusCode ?? 0);

/** How a saved card is charged. The same order is the same request, so that Stripe carries it out once. */
interface ChargeOrder {
  id: string;
  amount: Nano;
  goods: string;
  customer: string;
  paymentMethod: string;
}

/** The calls to Stripe that need no person. */
export const savedCardCalls = (ask: AskStripe) => ({
  /** Charges a saved card. Returns the intent, also of a refused card; null if Stripe refuses the request itself. */
  charge: (
    { id, amount, goods, customer, paymentMethod }: ChargeOrder,
    signal?: AbortSignal,
  ): Promise<string | null> =>
    ask(async (stripe) => {
      const order: Stripe.PaymentIntentCreateParams = {
        amount: toCents(amount),
        currency: 'usd',
        description: goods,
        metadata: { [paymentMark]: id },
        customer,
        payment_method: paymentMethod,
        // Else Stripe wants an address to which a person returns.
        automatic_payment_methods: { enabled: true, allow_redirects: 'never' },
        off_session: true,
        confirm: true,
      };
      try {
        return (await stripe.paymentIntents.create(order, { idempotencyKey: id })).id;
      } catch (error) {
        if (isOfType(error, 'StripeCardError') && error.payment_intent) return error.payment_intent.id;
        if (isRefused(error)) return null;
        throw error;
      }
    }, signal),
  /**
   * Finds the intent of an open attempt among the newest hundred of its customer, whatever our clock says; null if Stripe
   * has none. A customer has few that are newer: no other attempt is made while one is open.
   */
  findIntent: (
    { id, customer }: { id: string; customer: string },
    signal?: AbortSignal,
  ): Promise<string | null> =>
    ask(async (stripe) => {
      // An unknown customer has no intents. If it was deleted after a charge, the event of that still tells of it.
      const found = await stripe.paymentIntents
        .list({ customer, limit: 100 })
        .catch(instead(null, isRefused));
      return found?.data.find(({ metadata }) => metadata[paymentMark] === id)?.id ?? null;
    }, signal),
  /** Takes a saved card away from its customer. */
  forgetCard: (paymentMethod: string): Promise<unknown> =>
    ask((stripe) => stripe.paymentMethods.detach(paymentMethod)),
});
