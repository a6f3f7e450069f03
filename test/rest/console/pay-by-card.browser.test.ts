import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { startTestGateway, type TestGateway } from '../../e2e/start-test-gateway.ts';
import { startStripeStub, stripeKey, stripeWebhookSecret } from '../../payments/cards/stripe-stub.ts';
import { useChromium } from '../../use-chromium.ts';
import { issueOperator } from './console-client.ts';
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
  await page.route('https://checkout.stripe.com/**', (route) => {
    const [session] = stripe.sessions.values();
    return route.fulfill({ contentType: 'text/html', body: `<a href="${session?.success_url}">Back</a>` });
  });
  await signInPage(page, `${gateway.url}/console/top-up`, gateway.apiKey);
  await page.getByText('$25.00').waitFor();
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
  await page.getByText('You have paid').waitFor();
  await page.getByText('$45.00').waitFor();
  expect(reports).toEqual([]);
  await gateway.stop();
  await stripe.stop();
});

/** Fails at a page that is not accessible, in both themes and on a phone. */
const expectAccessible = async (page: Page): Promise<void> => {
  for (const colorScheme of ['light', 'dark'] as const)
    for (const width of [390, 1_280]) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 800 });
      await page.evaluate(axe.source);
      const { violations } = await page.evaluate<axe.AxeResults>('axe.run()');
      expect(violations.map(({ id, help }) => `${id}: ${help}`)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
    }
};

it('a customer sets an automatic top-up with a saved card, changes and stops it, and an operator sees the payment', async () => {
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
  await page.getByRole('heading', { name: 'Automatic top-up' }).waitFor();
  await page.getByLabel('Charge the card, USD').fill('1');
  const payOnce = page.getByRole('button', { name: 'Pay once now and save the card' });
  await payOnce.click();
  await page.getByRole('alert').waitFor();
  await page.getByLabel('Charge the card, USD').fill('20');
  await expectAccessible(page);
  await payOnce.click();
  await page.waitForURL(/^https:\/\/checkout\.stripe\.com\/c\/pay\/cs_test_/);
  const [session] = stripe.sessions.values();
  if (session === undefined) throw new Error('no page was opened');
  await stripe.deliver(stripe.complete(session), gateway.url);
  await page.getByRole('link', { name: 'Back' }).click();
  await page.getByText('visa 4242').waitFor();
  await page.getByLabel('At most in a month, USD').fill('60');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await expect
    .poll(async () => gateway.services.store.getAutoTopUp(await accountOf(gateway)))
    .toMatchObject({ state: 'on', monthlyCap: 60_000_000_000n });
  await stripe.deliver(stripe.refund(session, 2_000), gateway.url);
  await page.reload();
  await page.getByText('A payment by card was refunded or disputed.').waitFor();
  await page.getByRole('button', { name: 'Pay once now and save another card' }).click();
  await page.waitForURL(/^https:\/\/checkout\.stripe\.com\/c\/pay\/cs_test_/);
  expect(await gateway.services.store.getAutoTopUp(await accountOf(gateway))).toMatchObject({
    state: 'stopped',
  });
  await page.getByRole('link', { name: 'Back' }).click();
  await page.getByText('visa 4242').waitFor();
  await expectAccessible(page);
  await page.getByRole('button', { name: 'Stop the automatic top-up' }).click();
  await page.getByRole('button', { name: 'Stop it' }).click();
  await page.getByText('off', { exact: true }).waitFor();
  const { key } = await issueOperator(gateway.services);
  const operator = await visit();
  await signInPage(operator, `${gateway.url}/console/operator/payments`, key);
  await operator.getByRole('link', { name: 'Payments by card' }).click();
  await operator.getByRole('cell', { name: 'saving' }).first().waitFor();
  await expectAccessible(operator);
  expect(reports).toEqual([]);
  await gateway.stop();
  await stripe.stop();
});

const accountOf = async (gateway: TestGateway): Promise<string> => {
  const answer = await gateway.call('/v1/whoami');
  return ((await answer.json()) as { account_id: string }).account_id;
};
