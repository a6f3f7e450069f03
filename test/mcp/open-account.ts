import type { Clock } from '../../src/kit/clock.ts';
import { credit } from '../../src/accounts/ledger/entries.ts';
import { nanoPerUsd, type Nano } from '../../src/kit/money.ts';
import type { Store } from '../../src/store/store.ts';
import { createAccount } from '../store/builders.ts';
import { issueKey } from '../../src/accounts/keys.ts';

/** An active account with ten dollars, or as much as is asked for, and a key of it. */
export const openAccount = async (
  services: { store: Store; clock: Clock },
  { amount = 10n * nanoPerUsd, isSandbox = false }: { amount?: Nano; isSandbox?: boolean } = {},
): Promise<{ apiKey: string; keyId: string; accountId: string }> => {
  const { id: accountId } = await createAccount(services, {
    name: 'Tester',
    status: 'active',
    isSandbox,
  });
  if (amount > 0n) await credit(services, { accountId, amount, reason: 'for tests' });
  const issued = await issueKey(services, { accountId, label: 'test', brand: 'causeway' });
  if (issued.outcome !== 'issued') throw new Error(`the key was not issued: ${issued.outcome}`);
  return { apiKey: issued.key, keyId: issued.apiKey.id, accountId };
};
