import { expect, it } from 'vitest';
import { startTestGateway } from '../../e2e/start-test-gateway.ts';
import { startStripeStub, stripeKey, stripeWebhookSecret } from '../../payments/cards/stripe-stub.ts';
import { useChromium } from '../../use-chromium.ts';
import { signInPage, watchPage } from './console-page.ts';

const visit = useChromium();

it('a customer pays by card on a page of Stripe, comes back, and the balance has risen', async () => {
  const stripe = await startStripeStub();
  const gateway = await startTestGateway({
    stripe: stripe.address,
    environment: { STRIPE_SECRET_KEY: stripeKey, STRIPE_WEBHOOK_SECRET: stripeWebhookSecret },
  });
  const page = await visit();
  const reports = await watchPage(page);
  await page.route('https://checkout.stripe.com/**', (route) =>
    route.fulfill({ contentType: 'text/html', body: `<a href="${gateway.url}/console/top-up">Back</a>` }),
  );
  await signInPage(page, `${gateway.url}/console/top-up`, gateway.apiKey);
  expect(await page.getByRole('button', { name: 'See how to pay' }).count()).toBe(0);
  await page.getByLabel('USD to pay').fill('0.50');
  await page.getByRole('button', { name: 'Pay by card' }).click();
  await page.getByRole('alert').waitFor();
  await page.getByLabel('USD to pay').fill('20');
  await page.getByRole('button', { name: 'Pay by card' }).click();
  await page.waitForURL(/^https:\/\/checkout\.stripe\.com\/c\/pay\/cs_test_/);
  const [session] = stripe.sessions.values();
  if (session === undefined) throw new Error('no page was opened');
  expect((await stripe.deliver(stripe.complete(session), gateway.url)).status).toBe(200);
  await page.getByRole('link', { name: 'Back' }).click();
  await page.getByRole('link', { name: 'Overview' }).click();
  await page.getByText('$45.00').waitFor();
  expect(reports).toEqual([]);
  await gateway.stop();
  await stripe.stop();
});
