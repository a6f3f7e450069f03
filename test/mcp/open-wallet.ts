import { randomUUID } from 'node:crypto';
import { issueKey } from '../../src/accounts/keys.ts';
import { credit } from '../../src/accounts/ledger/entries.ts';
import type { Clock } from '../../src/kit/clock.ts';
import type { Nano } from '../../src/kit/money.ts';
import { openWalletAccount } from '../../src/payments/records/wallet-account.ts';
import type { Store } from '../../src/store/store.ts';

/** Opens the account of a wallet, without money unless some is asked for, and returns a key of it. */
export const openWallet = async (
  services: { store: Store; clock: Clock },
  { amount = 0n }: { amount?: Nano } = {},
): Promise<string> => {
  const wallet = `eip155:${randomUUID()}`;
  const { id: accountId } = await openWalletAccount(services, { wallet, isSandbox: false });
  if (amount > 0n) await credit(services, { accountId, amount, reason: 'for tests' });
  const issued = await issueKey(services, { accountId, label: 'test', brand: 'causeway' });
  if (issued.outcome !== 'issued') throw new Error(`the key was not issued: ${issued.outcome}`);
  return issued.key;
};
