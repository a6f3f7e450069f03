import type { Stripe } from 'stripe';
import { callWithin } from '../../kit/deadline.ts';
import { memoizeAsync } from '../../kit/memoize.ts';
import type { Nano } from '../../kit/money.ts';
import { paymentMark, toCents, type StripePayment } from './read-stripe-payment.ts';
import { savedCardCalls, type AskStripe } from './saved-card-calls.ts';

/** Where Stripe is, in tests. */
export type StripeAddress = Pick<Stripe.StripeConfig, 'host' | 'port' | 'protocol'>;

/** The version whose answers are read. */
const apiVersion = '2026-10-28.endive';
const timeoutMs = 10_000;
/** With the retry and its pause. */
const longestCallMs = 25_000;
/** Stripe's own tolerance for the age of a signature. */
const toleranceSeconds = 300;

/** The events after which a payment may be another. */
const eventTypes: readonly Stripe.Event['type'][] = [
  'checkout.session.completed',
  'checkout.session.async_payment_succeeded',
  'checkout.session.async_payment_failed',
  'checkout.session.expired',
  'payment_intent.succeeded',
  'charge.refunded',
  'refund.created',
  'refund.updated',
  'refund.failed',
  'charge.dispute.created',
  'charge.dispute.updated',
  'charge.dispute.funds_withdrawn',
  'charge.dispute.funds_reinstated',
  'charge.dispute.closed',
];

interface SessionOrder {
  id: string;
  amount: Nano;
  /** Names the goods on the page. */
  goods: string;
  returnUrl: string;
  /** Saves the card for automatic top-ups, with this customer of Stripe or a new one. Absent: it is not saved. */
  saving?: { customer: string | null } | undefined;
}

/** Parameters of a session that saves its card. Stripe's page then asks for the consent of the person. */
const savingParts = ({ customer }: { customer: string | null }): Stripe.Checkout.SessionCreateParams => ({
  allowed_payment_method_types: ['card'],
  payment_intent_data: { setup_future_usage: 'off_session' },
  ...(customer === null ? { customer_creation: 'always' } : { customer }),
});

const listDisputes = async (
  intent: Stripe.PaymentIntent | null,
  stripe: Stripe,
): Promise<readonly Stripe.Dispute[]> => {
  const charge = intent?.latest_charge;
  if (typeof charge !== 'object' || charge?.disputed !== true) return [];
  return (await stripe.disputes.list({ charge: charge.id, limit: 100 })).data;
};

export type StripeClient = ReturnType<typeof createStripeClient>;

/** Calls Stripe. The package is loaded on first use, because that takes half a second and 35 MB. */
export const createStripeClient = (secretKey: string, address: StripeAddress = {}) => {
  const load = memoizeAsync(async () => {
    const { Stripe } = await import('stripe');
    return new Stripe(secretKey, {
      apiVersion,
      timeout: timeoutMs,
      maxNetworkRetries: 1,
      telemetry: false,
      ...address,
    });
  });
  const ask: AskStripe = (call, signal) =>
    callWithin({
      call: async () => call(await load()),
      timeoutMs: longestCallMs,
      ...(signal === undefined ? {} : { signal }),
    });
  return {
    /** Opens a page where a person pays. Our id of the payment opens it once, with a customer and without. */
    openSession: ({ id, amount, goods, returnUrl, saving }: SessionOrder) =>
      ask((stripe) =>
        stripe.checkout.sessions.create(
          {
            mode: 'payment',
            client_reference_id: id,
            metadata: { [paymentMark]: id },
            line_items: [
              {
                quantity: 1,
                price_data: {
                  currency: 'usd',
                  unit_amount: toCents(amount),
                  product_data: { name: goods },
                },
              },
            ],
            adaptive_pricing: { enabled: false },
            success_url: `${returnUrl}?paid=true`,
            cancel_url: returnUrl,
            ...(saving && savingParts(saving)),
          },
          // Stripe takes a key for one set of parameters alone.
          { idempotencyKey: saving?.customer ? `${id} ${saving.customer}` : id },
        ),
      ),
    readSession: (id: string, signal?: AbortSignal): Promise<StripePayment> =>
      ask(async (stripe) => {
        const session = await stripe.checkout.sessions.retrieve(id, {
          expand: ['payment_intent.latest_charge'],
        });
        const intent = typeof session.payment_intent === 'object' ? session.payment_intent : null;
        return { session, intent, disputes: await listDisputes(intent, stripe) };
      }, signal),
    readIntent: (id: string, signal?: AbortSignal): Promise<StripePayment> =>
      ask(async (stripe) => {
        const intent = await stripe.paymentIntents.retrieve(id, { expand: ['latest_charge'] });
        return { session: null, intent, disputes: await listDisputes(intent, stripe) };
      }, signal),
    ...savedCardCalls(ask),
    /** Lists events, newest first: those before one, or the newest. */
    listEvents: (before: string | undefined, limit: number, signal: AbortSignal): Promise<Stripe.Event[]> =>
      ask(async (stripe) => {
        const place = before === undefined ? {} : { starting_after: before };
        return (await stripe.events.list({ types: [...eventTypes], limit, ...place })).data;
      }, signal),
    /** Throws on a signature of another secret, or an old one. */
    readEvent: async (body: Buffer, signature: string, secret: string): Promise<Stripe.Event> =>
      (await load()).webhooks.constructEvent(body, signature, secret, toleranceSeconds),
    isAboutPayments: ({ type }: Stripe.Event): boolean => eventTypes.includes(type),
  };
};
