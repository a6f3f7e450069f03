import {
  createKeyPairFromBytes,
  getBase58Encoder,
  getTransactionDecoder,
  getTransactionEncoder,
  partiallySignTransaction,
  signBytes,
} from '@solana/kit';
import type { Page } from 'playwright-core';
import { privateKeyToAccount } from 'viem/accounts';
import type { Chains } from '../../chains/start-chains.ts';

/** What the wallets of a page were asked, and whether the person refuses to sign. */
export interface GivenWallets {
  asked: string[];
  refuses: boolean;
}

/** Gives the pages of a visitor two wallets with the local buyers' keys, which stay in this process. */
export const giveWallets = async (page: Page, { base, solana }: Chains): Promise<GivenWallets> => {
  const given: GivenWallets = { asked: [], refuses: false };
  const account = privateKeyToAccount(base.buyer.privateKey);
  const keys = await createKeyPairFromBytes(
    Uint8Array.from(getBase58Encoder().encode(solana.buyer.secretKeyBase58)),
  );
  await page.exposeFunction('askEvm', async (method: string, params: readonly unknown[] = []) => {
    given.asked.push(method);
    if (method === 'eth_requestAccounts') return { answer: [account.address] };
    if (method === 'wallet_switchEthereumChain') return { answer: null };
    if (given.refuses) return { refusal: { code: 4_001, message: 'User rejected the request.' } };
    const { types, domain, primaryType, message } = JSON.parse(String(params[1])) as Parameters<
      typeof account.signTypedData
    >[0];
    return { answer: await account.signTypedData({ types, domain, primaryType, message }) };
  });
  await page.exposeFunction('askSolana', async (bytes: number[]) => {
    given.asked.push('signTransaction');
    const transaction = getTransactionDecoder().decode(Uint8Array.from(bytes));
    const signed = await partiallySignTransaction([keys], transaction);
    return [...getTransactionEncoder().encode(signed)];
  });
  await page.exposeFunction('askSolanaToSignIn', async (bytes: number[]) => {
    given.asked.push(Buffer.from(bytes).toString());
    if (given.refuses) return null;
    return [...(await signBytes(keys.privateKey, Uint8Array.from(bytes)))];
  });
  await page.addInitScript(`
    const provider = {
      request: async ({ method, params }) => {
        const { answer, refusal } = await askEvm(method, params);
        if (refusal) throw refusal;
        return answer;
      },
    };
    const info = { uuid: '350670db-19fa-4704-a166-e52e178b59d2', name: 'Test wallet', icon: 'data:,', rdns: 'example.test' };
    const announce = () =>
      dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail: Object.freeze({ info, provider }) }));
    addEventListener('eip6963:requestProvider', announce);
    announce();

    const account = {
      address: '${solana.buyer.address}',
      chains: ['solana:mainnet', 'solana:devnet'],
      features: ['solana:signTransaction'],
    };
    const wallet = {
      version: '1.0.0',
      name: 'Test wallet of Solana',
      icon: 'data:,',
      chains: account.chains,
      accounts: [],
      features: {
        'standard:connect': { version: '1.0.0', connect: async () => ({ accounts: [account] }) },
        'solana:signTransaction': {
          version: '1.0.0',
          supportedTransactionVersions: ['legacy', 0],
          signTransaction: async ({ transaction }) => [
            { signedTransaction: new Uint8Array(await askSolana([...transaction])) },
          ],
        },
        'solana:signMessage': {
          version: '1.0.0',
          signMessage: async ({ message }) => {
            const signature = await askSolanaToSignIn([...message]);
            if (signature === null) throw new Error('User rejected the request.');
            return [{ signedMessage: message, signature: new Uint8Array(signature) }];
          },
        },
      },
    };
    const register = ({ register }) => register(wallet);
    addEventListener('wallet-standard:app-ready', ({ detail }) => register(detail));
    dispatchEvent(new CustomEvent('wallet-standard:register-wallet', { detail: register }));
  `);
  return given;
};
