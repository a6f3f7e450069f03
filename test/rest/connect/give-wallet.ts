import type { Page } from 'playwright-core';
import type { PrivateKeyAccount } from 'viem/accounts';

/** Gives the pages of a visitor a wallet whose key stays in this process. Returns the texts that it signed. */
export const giveWallet = async (page: Page, account: PrivateKeyAccount): Promise<string[]> => {
  const texts: string[] = [];
  await page.exposeFunction('askWallet', async (method: string, [message]: string[] = []) => {
    if (method === 'eth_requestAccounts') return [account.address];
    if (method !== 'personal_sign') throw new Error(`unknown method ${method}`);
    texts.push(Buffer.from((message ?? '').slice(2), 'hex').toString());
    return account.signMessage({ message: { raw: message as `0x${string}` } });
  });
  await page.addInitScript(`
    window.ethereum = { request: ({ method, params }) => window.askWallet(method, params) };
    const detail = Object.freeze({ info: { uuid: '1', name: 'Test Wallet' }, provider: window.ethereum });
    addEventListener('eip6963:requestProvider', () =>
      dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail })));
  `);
  return texts;
};
