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
const sendAgain = (page: Page): Promise<void> => choose(page, 'Send the same payment again');
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
    expect(await page.evaluate(linesOfFirstName)).toBe(1);
    await page.reload();
    await seeResults(page);
    await page.getByRole('button', { name: 'Search again' }).click();
    await page
      .getByRole('button', { name: /^Pay with/ })
      .first()
      .waitFor();
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
      await sendAgain(page);
      await seeResults(page);
    });
    expect(charged).toBe(searchPrice);
    expect(wallets.asked.filter((method) => method === 'eth_signTypedData_v4')).toHaveLength(1);
  });

  it('keeps the payment when its answer breaks off, and gets that answer by sending it again', async () => {
    const { page, wallets } = await enter('fashion');
    await breakAnswersOff(page);
    const charged = await sold.charged(async () => {
      await choose(page, baseWallet);
      await confirm(page);
      await page.getByRole('button', { name: 'Send the same payment again' }).waitFor();
      await page.evaluate('healAnswers()');
      await sendAgain(page);
      await seeResults(page);
    });
    expect(charged).toBe(searchPrice);
    expect(wallets.asked.filter((method) => method === 'eth_signTypedData_v4')).toHaveLength(1);
  });

  it('offers to sign a new payment when this one is refused for good', async () => {
    const used = await sold.prove();
    const headers = { 'payment-signature': used };
    expect((await fetch(`${sold.gateway.url}/v1/search?query=music`, { headers })).status).toBe(200);
    const { page } = await enter('sports');
    await page.route('**/v1/search**', (route) => {
      const sent = route.request().headers();
      return route.continue({
        headers: { ...sent, ...(sent['payment-signature'] === undefined ? {} : headers) },
      });
    });
    await choose(page, baseWallet);
    await confirm(page);
    await page.getByRole('alert').filter({ hasText: 'Sign a new payment' }).waitFor();
    await page.unroute('**/v1/search**');
    await choose(page, baseWallet);
    await confirm(page);
    await seeResults(page);
  });

  it('shows the price anew after a refusal', async () => {
    const page = await visit();
    await giveWallets(page, sold.chains);
    await page.route(
      '**/v1/search**',
      async (route) => {
        const answer = await route.fetch();
        const body = (await answer.text()).replace('"amount":"0.10"', '"amount":"0.20"');
        const terms = Buffer.from(answer.headers()['payment-required'] ?? '', 'base64').toString();
        const former = Buffer.from(terms.replaceAll('"amount":"100000"', '"amount":"200000"'));
        const headers = { ...answer.headers(), 'payment-required': former.toString('base64') };
        await route.fulfill({ response: answer, headers, body });
      },
      { times: 1 },
    );
    await page.goto(`${sold.gateway.url}/pay?query=food`);
    await choose(page, baseWallet);
    const charged = await sold.charged(async () => {
      await page.getByRole('dialog').getByRole('button', { name: 'Pay 0.20 USDC' }).click();
      await page.getByText('0.10 USDC').waitFor();
    });
    expect(charged).toBe(0n);
    expect(await page.getByRole('alert').count()).toBe(1);
  });

  it('says that a search without a match, and a count, were not charged', async () => {
    const { page } = await enter('zzzzqqqqxxxx');
    await choose(page, baseWallet);
    const charged = await sold.charged(async () => {
      await confirm(page);
      await page.getByRole('heading', { name: 'Not charged: 0 results' }).waitFor();
    });
    expect(charged).toBe(0n);
    // Profiles may have come meanwhile.
    await page.reload();
    await page.getByRole('button', { name: baseWallet }).waitFor();
    await page.goto(`${sold.gateway.url}/pay?query=coffee&count_only=true`);
    await page.getByRole('heading', { name: /^Not charged: [1-9]\d* matches/ }).waitFor();
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

const linesOfFirstName = `(() => {
  const range = document.createRange();
  range.selectNodeContents(document.querySelector('td'));
  return range.getClientRects().length;
})()`;

/** Breaks the bodies of paid answers off in a page, until `healAnswers`. */
const breakAnswersOff = (page: Page): Promise<unknown> =>
  page.evaluate(`
    const whole = fetch;
    healAnswers = () => (fetch = whole);
    fetch = async (address, init) => {
      const answer = await whole(address, init);
      if (init.headers['payment-signature'] === undefined) return answer;
      const [text, { status, headers }] = [await answer.text(), answer];
      const body = new ReadableStream({
        start: (stream) => stream.enqueue(new TextEncoder().encode(text.slice(0, text.length / 2))),
        pull: (stream) => stream.error(new TypeError('network error')),
      });
      return new Response(body, { status, headers });
    };
  `);

/** Opens the top-up of the console for an account, and asks how to pay 2.00 USD. */
const askToTopUp = async (page: Page, apiKey: string): Promise<void> => {
  await signInPage(page, `${sold.gateway.url}/console/top-up`, apiKey);
  await page.getByLabel('USD to pay').fill('2.00');
  await page.getByRole('button', { name: 'See how to pay' }).click();
};

const payTopUp = async (page: Page): Promise<void> => {
  await choose(page, baseWallet);
  await page.getByRole('dialog').getByRole('button', { name: 'Pay 2.00 USDC' }).click();
};

describe('the console of a wallet of Solana', () => {
  const signIn = 'Sign in with Test wallet of Solana (Solana)';

  it('has what the wallet bought, after it signed one text, which cost nothing', async () => {
    const { page, wallets, reports } = await enter('gaming');
    await choose(page, solanaWallet);
    await confirm(page);
    await seeResults(page);
    wallets.asked.length = 0;
    const charged = await sold.charged(async () => {
      await page.goto(`${sold.gateway.url}/console/purchases`);
      await choose(page, signIn);
      await page.getByRole('row', { name: /0\.10/ }).first().waitFor();
    });
    expect(charged).toBe(0n);
    const { address } = sold.chains.solana.buyer;
    expect(wallets.asked).toHaveLength(1);
    expect(wallets.asked[0]).toContain(`wants you to sign in with your Solana account:\n${address}\n`);
    expect(wallets.asked[0]).toContain('\nChain ID: EtWTRABZaYq6iMfeYKouRu166VU2xqa1\n');
    expect(reports).toEqual([]);
  });

  it('is not opened where the person does not sign, and says so', async () => {
    const page = await visit();
    const wallets = await giveWallets(page, sold.chains);
    wallets.refuses = true;
    await page.goto(`${sold.gateway.url}/console`);
    await choose(page, signIn);
    await page.getByRole('alert').filter({ hasText: 'User rejected the request.' }).waitFor();
    expect(await page.getByRole('navigation').count()).toBe(0);
  });

  it('asks a person whose signature does not count to sign again, in words for people', async () => {
    const page = await visit();
    await giveWallets(page, sold.chains);
    await page.route('**/v1/auth/wallet', (route) => {
      const sent = route.request().headers();
      const other = { ...sent, 'sign-in-with-x': Buffer.from('{}').toString('base64') };
      return route.continue({ headers: sent['sign-in-with-x'] === undefined ? sent : other });
    });
    await page.goto(`${sold.gateway.url}/console`);
    await choose(page, signIn);
    await page.getByRole('alert').filter({ hasText: 'Sign again.' }).waitFor();
    expect(await page.getByRole('navigation').count()).toBe(0);
  });

  it('offers only wallets that can sign a text, of networks that this gateway takes', async () => {
    const page = await visit();
    await giveWallets(page, sold.chains);
    await page.addInitScript(`
      const plain = { name: 'Plain', features: { 'standard:connect': {}, 'solana:signTransaction': {} } };
      addEventListener('wallet-standard:app-ready', ({ detail }) => detail.register(plain));
    `);
    const offered = async (networks: string): Promise<readonly string[]> => {
      await page.route('**/console', async (route) => {
        const answer = await route.fetch();
        const body = (await answer.text()).replace(/data-networks="[^"]*"/, `data-networks='${networks}'`);
        await route.fulfill({ response: answer, body });
      });
      await page.goto(`${sold.gateway.url}/console`);
      await page
        .getByRole('button', { name: /^Sign in with/ })
        .first()
        .waitFor();
      return page.getByRole('button', { name: /^Sign in with/ }).allTextContents();
    };
    const evm = 'Sign in with Test wallet (Ethereum)';
    expect(await offered('{"eip155:84532":"Base Sepolia"}')).toEqual([evm]);
    expect(await offered('{"eip155:84532":"Base","solana:x":"Solana"}')).toEqual([evm, signIn]);
    await page.evaluate(axe.source);
    expect((await page.evaluate<axe.AxeResults>('axe.run()')).violations).toEqual([]);
  });
});

describe('the top-up of the console', () => {
  const open = async () => {
    const { store } = sold.gateway.services;
    const { apiKey, accountId } = await openAccount(sold.gateway.services, { isSandbox: true });
    const balance = async (): Promise<bigint> => (await store.getAccount(accountId))?.balance ?? 0n;
    const before = await balance();
    return { apiKey, gained: async () => (await balance()) - before };
  };

  it('raises the balance by a payment of a wallet in the browser', async () => {
    const { apiKey, gained } = await open();
    const page = await visit();
    await giveWallets(page, sold.chains);
    await askToTopUp(page, apiKey);
    await payTopUp(page);
    await page.getByRole('status').filter({ hasText: '$2.00 was added.' }).waitFor();
    expect(await gained()).toBe(2_000_000_000n);
  });

  it('keeps the payment of an account from the next one that signs in, and for when it is back', async () => {
    const [own, next] = [await open(), await open()];
    const page = await visit();
    await giveWallets(page, sold.chains);
    await page.route('**/console/v1/topup', (route) =>
      route.request().headers()['payment-signature'] === undefined ? route.continue() : route.abort(),
    );
    await askToTopUp(page, own.apiKey);
    await payTopUp(page);
    await page.getByRole('button', { name: 'Send the same payment again' }).waitFor();
    await page.unroute('**/console/v1/topup');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await askToTopUp(page, next.apiKey);
    await page.getByRole('button', { name: baseWallet }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await askToTopUp(page, own.apiKey);
    await sendAgain(page);
    await page.getByRole('status').filter({ hasText: '$2.00 was added.' }).waitFor();
    expect([await own.gained(), await next.gained()]).toEqual([2_000_000_000n, 0n]);
  });

  it('keeps the payment when the session ends before its answer has come', async () => {
    const { apiKey, gained } = await open();
    const page = await visit();
    const { asked } = await giveWallets(page, sold.chains);
    await page.route('**/console/v1/topup', async (route) => {
      if (route.request().headers()['payment-signature'] === undefined) return route.continue();
      await route.fetch();
      await route.abort();
    });
    await askToTopUp(page, apiKey);
    await payTopUp(page);
    await page.getByRole('button', { name: 'Send the same payment again' }).waitFor();
    await page.unroute('**/console/v1/topup');
    await page.context().clearCookies();
    await sendAgain(page);
    await page.getByRole('alert').filter({ hasText: 'The session has ended.' }).waitFor();
    await askToTopUp(page, apiKey);
    await sendAgain(page);
    await page.getByRole('status').filter({ hasText: '$2.00 was added.' }).waitFor();
    expect(await gained()).toBe(2_000_000_000n);
    expect(asked.filter((method) => method === 'eth_signTypedData_v4')).toHaveLength(1);
  });
});
