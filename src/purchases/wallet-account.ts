import type { Clock } from '../kit/clock.ts';
import { newId, randomBase62, sha256 } from '../kit/ids.ts';
import type { Store, WalletAccount } from '../store/store.ts';

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
