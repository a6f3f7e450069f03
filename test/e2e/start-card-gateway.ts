import { startStripeStub, stripeKey, stripeWebhookSecret } from '../payments/cards/stripe-stub.ts';
import { startTestGateway } from './start-test-gateway.ts';

/** A gateway that sells top-ups by card, beside a stub of Stripe. */
export const startCardGateway = async () => {
  const stripe = await startStripeStub();
  const gateway = await startTestGateway({
    stripe: stripe.address,
    environment: { STRIPE_SECRET_KEY: stripeKey, STRIPE_WEBHOOK_SECRET: stripeWebhookSecret },
  });
  return {
    stripe,
    gateway,
    stop: async (): Promise<void> => {
      await gateway.stop();
      await stripe.stop();
    },
  };
};
