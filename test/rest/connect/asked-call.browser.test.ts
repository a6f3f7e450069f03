import type { Page } from 'playwright-core';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { credit } from '../../../src/accounts/ledger/entries.ts';
import { nanoPerUsd } from '../../../src/kit/money.ts';
import { openWalletAccount } from '../../../src/payments/records/wallet-account.ts';
import { startTestGateway, type TestGateway } from '../../e2e/start-test-gateway.ts';
import { openAccount } from '../../mcp/open-account.ts';
import { connectAssistant } from '../../store/connect-assistant.ts';
import { useChromium } from '../../use-chromium.ts';
import { contrastOf } from './contrast-of.ts';
import { giveWallet } from './give-wallet.ts';

let gateway: TestGateway;
const visit = useChromium();
beforeAll(async () => {
  gateway = await startTestGateway({ environment: { WALLET_ACCOUNTS: 'on' } });
});
afterAll(() => gateway.stop());

/** An image that costs four cents waits for the person of an account. */
const askFor = async (accountId: string, askAbove: bigint | null = 0n): Promise<string> => {
  const { services } = gateway;
  const { token } = await connectAssistant(services.store, { accountId, now: Date.now(), askAbove });
  const params = { name: 'create_image', arguments: { model: 'imagemodel-1.0', prompt: 'A pier' } };
  const answer = await gateway.call('/mcp/account', {
    apiKey: token,
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
    headers: { accept: 'application/json, text/event-stream' },
  });
  return /https?:\/\/\S+\/oauth\/calls\/\w+/.exec(await answer.text())?.[0] ?? '';
};

const answerOf = async (url: string): Promise<string | null | undefined> =>
  (await gateway.services.store.getAskedCall({ id: url.split('/').at(-1) ?? '', now: Date.now() }))?.answer;

const signIn = async (page: Page, apiKey: string): Promise<void> => {
  await page.getByLabel(/API key/).fill(apiKey);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
};

describe('the page of a call in a browser', () => {
  it('lets a person confirm one call without script, and tells how it ended also when it is loaded again', async () => {
    const { apiKey, accountId } = await openAccount(gateway.services);
    const url = await askFor(accountId);
    const page = await visit({ javaScriptEnabled: false });
    await page.goto(url);
    await signIn(page, 'sk_causeway_wrong');
    expect(await page.getByRole('alert').textContent()).toContain('There is no such key');
    await signIn(page, apiKey);
    expect(await page.getByRole('main').innerText()).toMatch(
      /Make an image[^]*\$0\.04[^]*Balance\s+\$10\.00/,
    );
    expect(await answerOf(url)).toBeNull();
    await page.getByRole('button', { name: 'Confirm this one call' }).click();
    await page.getByRole('heading', { name: 'The call is confirmed' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'The call is confirmed' }).waitFor();
    expect(await answerOf(url)).toBe('confirmed');
  });

  it('lets a person decline it', async () => {
    const { apiKey, accountId } = await openAccount(gateway.services);
    const url = await askFor(accountId);
    const page = await visit();
    await page.goto(url);
    await signIn(page, apiKey);
    await page.getByRole('button', { name: 'Decline' }).click();
    await page.getByRole('heading', { name: 'The call is declined' }).waitFor();
    expect(await answerOf(url)).toBe('declined');
  });

  it('signs in the wallet that owns the account, and no other, and makes neither an account nor a key', async () => {
    const { services } = gateway;
    const owner = privateKeyToAccount(generatePrivateKey());
    const wallet = `eip155:${owner.address.toLowerCase()}`;
    const { id: accountId } = await openWalletAccount(services, { wallet, isSandbox: true });
    await credit(services, { accountId, amount: nanoPerUsd, reason: 'for tests' });
    const url = await askFor(accountId);
    const stranger = privateKeyToAccount(generatePrivateKey());
    const page = await visit();
    await giveWallet(page, stranger);
    await page.goto(url);
    await page.getByRole('button', { name: 'Sign in with a wallet' }).click();
    await page.getByText('Another account pays for this call').waitFor();
    const own = await visit();
    await giveWallet(own, owner);
    await own.goto(url);
    await own.getByRole('button', { name: 'Sign in with a wallet' }).click();
    await own.getByRole('button', { name: 'Confirm this one call' }).waitFor();
    const strange = `eip155:${stranger.address.toLowerCase()}`;
    expect(await services.store.findWalletAccount({ wallet: strange, isSandbox: true })).toBeNull();
    const keys = await services.store.listKeys({ accountId, limit: 10, before: null, now: Date.now() });
    expect(keys.filter(({ madeBy }) => madeBy === 'wallet')).toEqual([]);
  });
});

describe.each([
  { width: 390, height: 800 },
  { width: 1_280, height: 800 },
])('the page of a call at a width of $width', (viewport) => {
  it.each(['light', 'dark'] as const)('is readable in the %s theme', async (colorScheme) => {
    const { apiKey, accountId } = await openAccount(gateway.services);
    const page = await visit({ viewport, colorScheme });
    const assertReadable = async (): Promise<void> => {
      // A page has its words before its style.
      await page.waitForLoadState();
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(viewport.width);
      for (const text of ['h1', 'dt', 'dd'])
        expect(await contrastOf(page, text, colorScheme)).toBeGreaterThan(4.5);
      for (const button of await page.getByRole('button').all())
        expect((await button.boundingBox())?.height).toBeGreaterThanOrEqual(44);
    };
    await page.goto(await askFor(accountId));
    await assertReadable();
    await signIn(page, apiKey);
    await page.getByRole('button', { name: 'Confirm this one call' }).waitFor();
    await assertReadable();
  });
});
