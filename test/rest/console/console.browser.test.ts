import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { giveWallet } from '../connect/give-wallet.ts';
import { startTestGateway, type TestGateway } from '../../e2e/start-test-gateway.ts';
import { openAccount } from '../../mcp/open-account.ts';
import { newPayment } from '../../store/builders.ts';
import { useChromium } from '../../use-chromium.ts';
import { issueOperator } from './console-client.ts';
import { signInPage, watchPage } from './console-page.ts';

let gateway: TestGateway;
let apiKey: string;
let accountId: string;
const identity = `eip155:84532:0xasset:0xpayer:${'5f3c9a1e'.repeat(8)}`;
const visit = useChromium();

beforeAll(async () => {
  gateway = await startTestGateway({ environment: { WALLET_ACCOUNTS: 'on', SEARCH_FROM_BALANCE: 'on' } });
  ({ apiKey, accountId } = await openAccount(gateway.services));
  const body = { model: 'imagemodel-1.0', prompt: 'A pier' };
  await gateway.call('/v1/images/generations', { apiKey, body });
  await gateway.services.store.reservePayment(newPayment({ identity, accountId, now: Date.now() }));
});
afterAll(() => gateway.stop());

const signIn = (page: Page, path: string, key: string): Promise<void> =>
  signInPage(page, `${gateway.url}/console${path}`, key);

const follow = async (page: Page, link: string): Promise<void> => {
  await page.getByRole('navigation', { name: 'Console' }).getByRole('link', { name: link }).click();
};

describe('the console in a browser', () => {
  it('lets a customer chat, make an image, and follow what it cost to its receipt', async () => {
    const page = await visit();
    const reports = await watchPage(page);
    await page.goto(`${gateway.url}/console`);
    await page.getByLabel('API key').fill('sk_causeway_wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('There is no such key').waitFor();
    await page.getByLabel('API key').fill(apiKey);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('$9.96').waitFor();

    await follow(page, 'Playground');
    await page.getByLabel('Your message').fill('Say <b>hi</b>');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByText('You asked, in 2 words: "Say <b>hi</b>"').waitFor();
    await page.getByText(/Cost: \$0\.000/).waitFor();
    await page.getByRole('button', { name: 'Image' }).click();
    await page.getByRole('button', { name: 'Make the image' }).click();
    await page.getByText('Cost: $0.04').waitFor();
    const pictureWidth = `document.querySelector('img[alt="Result 1"]').naturalWidth`;
    await expect.poll(() => page.evaluate(pictureWidth)).toBeGreaterThan(0);

    await follow(page, 'Jobs');
    const row = page.getByRole('row', { name: /imagemodel-1\.0/ });
    await row.first().getByRole('link').click();
    await page.getByRole('link', { name: 'Receipt' }).click();
    await page.getByRole('heading', { name: 'Receipt' }).waitFor();
    await page.getByText('unit call, price $0.04').waitFor();
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Receipt');
    await page.goBack();
    await page.getByRole('heading', { name: 'Images' }).waitFor();
    expect(reports).toEqual([]);
  });

  it('signs a wallet in to its own account', async () => {
    const page = await visit();
    const reports = await watchPage(page);
    const wallet = privateKeyToAccount(generatePrivateKey());
    const signed = await giveWallet(page, wallet);
    await page.goto(`${gateway.url}/console`);
    await page.getByRole('button', { name: 'Sign in with Test Wallet' }).click();
    await page.getByText('$0.00').first().waitFor();
    expect(signed).toHaveLength(1);
    expect(signed[0]).toContain(`wants you to sign in with your Ethereum account:\n${wallet.address}`);
    await follow(page, 'Keys');
    await page.getByRole('row', { name: /active/ }).waitFor();
    expect(reports).toEqual([]);
  });

  it('signs a wallet in whose challenge has no room in the header, and shows the words of a refusal', async () => {
    const page = await visit();
    const signed = await giveWallet(page, privateKeyToAccount(generatePrivateKey()));
    await page.route('**/v1/auth/wallet', async (route) => {
      const answer = await route.fetch();
      const terms = Buffer.from(answer.headers()['payment-required'] ?? '', 'base64').toString() || '{}';
      const { extensions: _, ...short } = JSON.parse(terms) as { extensions?: object };
      const header = Buffer.from(JSON.stringify(short)).toString('base64');
      await route.fulfill({ response: answer, headers: { ...answer.headers(), 'payment-required': header } });
    });
    await page.route(
      '**/v1/auth/wallet',
      (route) => route.fulfill({ status: 503, json: { error: { message: 'The service is busy.' } } }),
      { times: 1 },
    );
    await page.goto(`${gateway.url}/console`);
    const button = page.getByRole('button', { name: 'Sign in with Test Wallet' });
    await button.click();
    await page.getByRole('alert').filter({ hasText: 'The service is busy.' }).waitFor();
    await button.click();
    await page.getByText('$0.00').first().waitFor();
    expect(signed).toHaveLength(1);
  });

  it('makes a key that is shown once, and ends it after a question', async () => {
    const page = await visit();
    await signIn(page, '/keys', apiKey);
    await page.getByLabel('Name of the key').fill('nightly');
    await page.getByLabel('Most in a day').fill('5');
    await page.getByRole('button', { name: 'Make the key' }).click();
    expect(await page.getByRole('status').textContent()).toMatch(/sk_causeway_\w{43}/);
    const row = page.getByRole('row', { name: /nightly/ });
    await row.getByRole('button').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    expect(await row.textContent()).toContain('active');
    await row.getByRole('button').click();
    await page.getByRole('dialog').getByRole('button', { name: 'End the key' }).click();
    await row.getByText('revoked').waitFor();
  });

  it('keeps what is looked at in the address', async () => {
    const page = await visit();
    await signIn(page, '?from=2026-01-01&to=2026-01-31', apiKey);
    await page.getByText('No calls in this time.').first().waitFor();
    expect(await page.getByLabel('From (UTC)').inputValue()).toBe('2026-01-01');
    await page.getByRole('button', { name: '7 days' }).click();
    await page.getByRole('cell', { name: 'imagemodel-1.0' }).waitFor();
    expect(new URL(page.url()).searchParams.has('from')).toBe(true);
    for (const [by, name] of [
      ['model', 'imagemodel-1.0'],
      ['kind', 'image'],
      ['key', 'test'],
      ['day', /^\d{4}-/],
    ] as const) {
      await page
        .getByRole('table', { name: `By ${by}` })
        .getByRole('link', { name })
        .first()
        .click();
      await page.getByRole('table', { name: 'Jobs' }).getByText('imagemodel-1.0').first().waitFor();
      await page.goBack();
    }
  });

  it('lets an operator credit an account after a question, and shows it in the audit log', async () => {
    const { key } = await issueOperator(gateway.services);
    const page = await visit();
    const reports = await watchPage(page);
    await signIn(page, '/operator', key);
    await page.getByRole('link', { name: 'Tester' }).click();
    await page.getByLabel('US dollars').fill('12.50');
    await page.getByLabel('Reason').fill('Invoice 2041');
    await page.getByRole('button', { name: 'Add money' }).click();
    const dialog = page.getByRole('dialog');
    expect(await dialog.textContent()).toContain('Add 12.50 US dollars of real money to the account Tester');
    await dialog.getByRole('button', { name: 'Add 12.50 US dollars' }).click();
    await page.getByRole('row', { name: /Invoice 2041.*\$12\.50/ }).waitFor();
    const models = page.getByRole('table', { name: 'By model' });
    await models.getByRole('link', { name: 'imagemodel-1.0' }).click();
    await page.getByRole('heading', { name: 'Jobs of all accounts' }).waitFor();
    await page.getByRole('cell', { name: 'imagemodel-1.0' }).first().waitFor();
    expect(await page.getByLabel('Model').inputValue()).toBe('imagemodel-1.0');
    await follow(page, 'Audit log');
    await page.getByRole('row', { name: /credit_account/ }).waitFor();
    expect(reports).toEqual([]);
  });

  it('says that it cannot be shown where the page itself fails', async () => {
    const page = await visit();
    await page.addInitScript(
      `Object.defineProperty(document, 'title', { set: () => { throw new Error('no title') } })`,
    );
    await page.goto(`${gateway.url}/console`);
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('alert').textContent()).toBe('This page cannot be shown. Reload it.');
  });

  it('shows no changes to an operator who may only read', async () => {
    const { key } = await issueOperator(gateway.services, 'read');
    const page = await visit();
    await signIn(page, `/operator/accounts/${accountId}`, key);
    await page.getByRole('heading', { name: 'Tester' }).waitFor();
    expect(await page.getByRole('button', { name: /Add money|Suspend/ }).count()).toBe(0);
  });

  it('shows a change of the balance without a reload, as soon as it happens', async () => {
    const account = await openAccount(gateway.services);
    const page = await visit();
    await signIn(page, '', account.apiKey);
    await page.getByText('$10.00').waitFor();
    // No timer of the page reads the balance any more.
    await page.clock.install();
    await page.reload();
    await page.getByText('$10.00').waitFor();
    await page.clock.pauseAt(Date.now() + 60_000);
    const body = { model: 'imagemodel-1.0', prompt: 'A pier' };
    await gateway.call('/v1/images/generations', { apiKey: account.apiKey, body });
    await page.getByText('$9.96').waitFor();
    expect(await page.getByText('$10.00').count()).toBe(0);
  });

  it('goes back to the sign-in when the session ends', async () => {
    const account = await openAccount(gateway.services);
    const page = await visit();
    await signIn(page, '', account.apiKey);
    await gateway.services.store.revokeKey({ id: account.keyId, now: Date.now() });
    await page.getByRole('heading', { name: 'Sign in to the console' }).waitFor();
    expect(await page.getByRole('navigation').count()).toBe(0);
  });

  it('ends no key because a person holds the button down that asks', async () => {
    const account = await openAccount(gateway.services);
    const page = await visit();
    await signIn(page, '/keys', account.apiKey);
    await page.getByRole('button', { name: /^End the key sk_/ }).focus();
    await page.keyboard.down('Enter');
    const dialog = page.getByRole('dialog', { description: /^End the key / });
    await dialog.waitFor();
    // Held down, a key presses again and again.
    await page.keyboard.down('Enter');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    await page.reload();
    await page.getByRole('row', { name: /active/ }).waitFor();
    expect(await page.getByRole('row', { name: /revoked/ }).count()).toBe(0);
  });

  it('shows nothing of an account any more once another tab has signed in to another one', async () => {
    const [account, other] = [await openAccount(gateway.services), await openAccount(gateway.services)];
    const page = await visit();
    await signIn(page, '/keys', account.apiKey);
    await page.getByLabel('Name of the key').fill('for this account');
    const tab = await page.context().newPage();
    await tab.goto(`${gateway.url}/console`);
    await tab.getByRole('button', { name: 'Sign out' }).click();
    await signIn(tab, '', other.apiKey);
    await expect.poll(() => page.getByLabel('Name of the key').inputValue()).toBe('');
  });
});

const customerPaths = [
  '',
  '/playground',
  '/playground?kind=image',
  '/playground?kind=video',
  '/playground?kind=search',
  '/jobs',
  '/transactions',
  '/statement',
  '/purchases',
  '/keys',
  '/webhooks',
  '/connections',
];
const operatorPaths = (): string[] => [
  '/operator',
  `/operator/accounts/${accountId}`,
  '/operator/jobs',
  '/operator/payments',
  `/operator/payments/${encodeURIComponent(identity)}`,
  '/operator/revenue',
  '/operator/profiles',
  '/operator/tools',
  '/operator/changes',
  '/operator/changes/issue_key',
  '/operator/audit',
  '/operator/gateway',
];

const views = [390, 1_280].flatMap((width) =>
  (['light', 'dark'] as const).map((colorScheme) => ({ width, colorScheme })),
);

describe.each(views)('in the $colorScheme theme at a width of $width', ({ width, colorScheme }) => {
  /** Opens pages one after another, signed in with a key, and fails at any that is not accessible or too wide. */
  const expectAccessible = async (key: string, paths: readonly string[]): Promise<void> => {
    const page = await visit({ viewport: { width, height: 800 }, colorScheme });
    const reports = await watchPage(page);
    const check = async (path: string): Promise<void> => {
      await page.getByRole('heading', { level: 1 }).waitFor();
      await expect.poll(() => page.getByText('Loading…').count()).toBe(0);
      await page.evaluate(axe.source);
      const { violations } = await page.evaluate<axe.AxeResults>('axe.run()');
      expect([path, ...violations.map(({ id, help }) => `${id}: ${help}`)]).toEqual([path]);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
    };
    const [first = ''] = paths;
    await page.goto(`${gateway.url}/console${first}`);
    await check('sign-in');
    await signIn(page, first, key);
    for (const path of paths) {
      await page.goto(`${gateway.url}/console${path}`);
      await check(path);
    }
    expect(reports).toEqual([]);
  };

  it('the pages of a customer are accessible', () => expectAccessible(apiKey, customerPaths));

  it('the pages of an operator are accessible', async () => {
    const { key } = await issueOperator(gateway.services);
    await expectAccessible(key, operatorPaths());
  });
});
