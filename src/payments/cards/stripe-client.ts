import type { Stripe } from 'stripe';
import { callWithin } from '../../kit/deadline.ts';
import { memoizeAsync } from '../../kit/memoize.ts';
import type { Nano } from '../../kit/money.ts';
import { paymentMark, toCents, type StripePayment } from './read-stripe-payment.ts';

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

/** Whether Stripe answers that a request cannot be met, as one that names something unknown. */
export const isRefused = (error: unknown): boolean =>
  error instanceof Error && 'type' in error && error.type === 'StripeInvalidRequestError';

interface SessionOrder {
  id: string;
  amount: Nano;
  /** Names the goods on the page. */
  goods: string;
  returnUrl: string;
}

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
  const ask = <T>(call: (stripe: Stripe) => Promise<T>, signal?: AbortSignal): Promise<T> =>
    callWithin({
      call: async () => call(await load()),
      timeoutMs: longestCallMs,
      ...(signal === undefined ? {} : { signal }),
    });
  return {
    /** Opens a page where a person pays. Our id of the payment opens it once. */
    openSession: ({ id, amount, goods, returnUrl }: SessionOrder) =>
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
            success_url: returnUrl,
            cancel_url: returnUrl,
          },
          { idempotencyKey: id },
        ),
      ),
    readPayment: (id: string, signal?: AbortSignal): Promise<StripePayment> =>
      ask(async (stripe) => {
        const session = await stripe.checkout.sessions.retrieve(id, {
          expand: ['payment_intent.latest_charge'],
        });
        const intent = typeof session.payment_intent === 'object' ? session.payment_intent : null;
        const charge = typeof intent?.latest_charge === 'object' ? intent.latest_charge : null;
        const disputes =
          charge?.disputed === true
            ? (await stripe.disputes.list({ charge: charge.id, limit: 100 })).data
            : [];
        return { session, disputes };
      }, signal),
    /** Lists the events after one, or the newest ones, oldest first. */
    listEvents: (after: string | null, limit: number, signal: AbortSignal): Promise<Stripe.Event[]> =>
      ask(async (stripe) => {
        const { data } = await stripe.events.list({
          types: [...eventTypes],
          limit,
          ...(after === null ? {} : { ending_before: after }),
        });
        return data.reverse();
      }, signal),
    /** Throws on a signature of another secret, or an old one. */
    readEvent: async (body: Buffer, signature: string, secret: string): Promise<Stripe.Event> =>
      (await load()).webhooks.constructEvent(body, signature, secret, toleranceSeconds),
    isAboutPayments: ({ type }: Stripe.Event): boolean => eventTypes.includes(type),
  };
};
