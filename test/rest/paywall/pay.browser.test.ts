import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { searchPrice, startPaidSearch, type PaidSearch } from '../../e2e/start-paid-search.ts';
import { openAccount } from '../../mcp/open-account.ts';
import { useChromium } from '../../use-chromium.ts';
import { signInPage, watchPage } from '../console/console-page.ts';
import { giveWallets, type GivenWallets } from './give-wallets.ts';

let sold: PaidSearch;
const visit = useChromium();
beforeAll(async () => {
  sold = await startPaidSearch({ environment: { WALLET_ACCOUNTS: 'on' } });
});
afterAll(() => sold.stop());

const enter = async (query: string): Promise<{ page: Page; wallets: GivenWallets; reports: string[] }> => {
  const page = await visit();
  const reports = await watchPage(page);
  const wallets = await giveWallets(page, sold.chains);
  await page.goto(`${sold.gateway.url}/v1/search?query=${query}`);
  await page.getByRole('link', { name: 'Pay with a wallet of this browser' }).click();
  return { page, wallets, reports };
};

const baseWallet = 'Pay with Test wallet on Base Sepolia (test money)';
const solanaWallet = 'Pay with Test wallet of Solana on Solana devnet (test money)';
const choose = (page: Page, name: string): Promise<void> => page.getByRole('button', { name }).click();
const confirm = (page: Page): Promise<void> =>
  page.getByRole('dialog').getByRole('button', { name: 'Pay 0.10 USDC' }).click();
const seeResults = (page: Page): Promise<void> =>
  page.getByRole('heading', { name: /^Paid: \d+ results/ }).waitFor();

describe('the page on which a wallet of the browser pays', () => {
  it('says amount, network and receiver before the wallet signs, and then shows the results', async () => {
    const { page, wallets, reports } = await enter('coffee');
    await choose(page, baseWallet);
    const { base } = sold.chains;
    await page
      .getByText(
        `Pay 0.10 USDC on Base Sepolia (test money), from ${base.buyer.address} to ${base.seller.address}?`,
      )
      .waitFor();
    expect(wallets.asked).toEqual(['eth_requestAccounts', 'wallet_switchEthereumChain']);
    const charged = await sold.charged(async () => {
      await confirm(page);
      await seeResults(page);
    });
    expect(charged).toBe(searchPrice);
    await page.getByRole('columnheader', { name: 'username' }).waitFor();
    expect(reports).toEqual([]);
  });

  it('has a wallet of Solana sign a transaction that the gateway prepared', async () => {
    const { page, wallets } = await enter('travel');
    await choose(page, solanaWallet);
    const charged = await sold.charged(async () => {
      await confirm(page);
      await seeResults(page);
    });
    expect(charged).toBe(searchPrice);
    expect(wallets.asked).toEqual(['signTransaction']);
  });

  it('pays nothing where the person does not sign, and says so', async () => {
    const { page, wallets } = await enter('fitness');
    wallets.refuses = true;
    await choose(page, baseWallet);
    const charged = await sold.charged(async () => {
      await confirm(page);
      await page
        .getByRole('alert')
        .filter({ hasText: 'You did not sign in the wallet. Nothing was paid.' })
        .waitFor();
    });
    expect(charged).toBe(0n);
    wallets.refuses = false;
    await choose(page, baseWallet);
    await confirm(page);
    await seeResults(page);
  });

  it('sends the same payment again after a reload when its answer was lost', async () => {
    const { page, wallets } = await enter('beauty');
    await page.route('**/v1/search**', async (route) => {
      if (route.request().headers()['payment-signature'] === undefined) return route.continue();
      await route.fetch();
      await route.abort();
    });
    const charged = await sold.charged(async () => {
      await choose(page, baseWallet);
      await confirm(page);
      await page.getByRole('button', { name: 'Send the same payment again' }).waitFor();
      await page.unroute('**/v1/search**');
      await page.reload();
      await seeResults(page);
    });
    expect(charged).toBe(searchPrice);
    expect(wallets.asked.filter((method) => method === 'eth_signTypedData_v4')).toHaveLength(1);
  });

  it.each(['light', 'dark'] as const)('is accessible in the %s theme at both widths', async (colorScheme) => {
    for (const width of [390, 1_280]) {
      const page = await visit({ colorScheme, viewport: { width, height: 844 } });
      await giveWallets(page, sold.chains);
      await page.goto(`${sold.gateway.url}/pay?query=coffee`);
      await page.getByRole('button', { name: baseWallet }).waitFor();
      await page.evaluate(axe.source);
      const { violations } = await page.evaluate<axe.AxeResults>('axe.run()');
      expect(violations.map(({ id }) => id)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
    }
  });
});

describe('the top-up of the console', () => {
  it('raises the balance by a payment of a wallet in the browser', async () => {
    const { apiKey, accountId } = await openAccount(sold.gateway.services, { isSandbox: true });
    const before = await sold.gateway.services.store.getAccount(accountId);
    const page = await visit();
    await giveWallets(page, sold.chains);
    await signInPage(page, `${sold.gateway.url}/console/top-up`, apiKey);
    await page.getByLabel('USD to pay').fill('2.00');
    await page.getByRole('button', { name: 'See how to pay' }).click();
    await choose(page, baseWallet);
    await page.getByRole('dialog').getByRole('button', { name: 'Pay 2.00 USDC' }).click();
    await page.getByRole('status').filter({ hasText: '$2.00 was added.' }).waitFor();
    const after = await sold.gateway.services.store.getAccount(accountId);
    expect((after?.balance ?? 0n) - (before?.balance ?? 0n)).toBe(2_000_000_000n);
  });
});
