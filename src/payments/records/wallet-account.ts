import type { Clock } from '../../kit/clock.ts';
import { newId, randomBase62, sha256 } from '../../kit/ids.ts';
import { paymentNetworks } from '../chains/networks.ts';
import type { Account, Payment, PurchasePage, Store, WalletAccount } from '../../store/store.ts';

/**
 * Returns the account that a wallet owns, and makes it with its first payment or sign-in. `wallet` is the name of the
 * wallet (`NetworkFamily.findWallet`). `isSandbox`: for payments on test networks, which are sandbox credit.
 */
export const openWalletAccount = (
  { store, clock }: { store: Pick<Store, 'openWalletAccount'>; clock: Clock },
  { wallet, isSandbox }: { wallet: string; isSandbox: boolean },
): Promise<WalletAccount> =>
  store.openWalletAccount({
    id: newId(),
    wallet,
    isSandbox,
    key: { id: newId(), hash: sha256(randomBase62(43)), display: 'wallet' },
    now: clock.now(),
  });

/** Returns how the wallet of an account pays; null for an account that no wallet owns. */
export const walletOf = ({ wallet, isSandbox }: Account): PurchasePage['wallet'] => {
  if (wallet === null) return null;
  const colon = wallet.lastIndexOf(':');
  const chain = wallet.slice(0, colon);
  const networks = paymentNetworks
    .filter(({ id, isTest }) => isTest === isSandbox && (id === chain || id.startsWith(`${chain}:`)))
    .map(({ id }) => id);
  return { payer: wallet.slice(colon + 1), networks };
};

/** Whether a payment is a purchase of the account: it raises its balance, or its wallet bought an answer. */
export const isPurchaseOf = (account: Account, { accountId, credit, payer, network }: Payment): boolean => {
  if (accountId !== null || credit !== null) return accountId === account.id;
  const wallet = walletOf(account);
  if (wallet === null || payer === null || !wallet.networks.includes(network)) return false;
  return payer === wallet.payer || (network.startsWith('eip155:') && payer.toLowerCase() === wallet.payer);
};
