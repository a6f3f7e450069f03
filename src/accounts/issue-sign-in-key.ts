import type { Clock } from '../kit/clock.ts';
import { newApiKey, newId, sha256 } from '../kit/ids.ts';
import type { ApiKey, Store } from '../store/store.ts';
import { displayKey } from './issue-key.ts';

/** The keys from sign-ins that an account can use at once. One more revokes the oldest. */
export const maxSignInKeys = 20;

/** Issues a key for a wallet that has signed in. Stores only its hash and display form. */
export const issueSignInKey = async (
  { store, clock }: { store: Pick<Store, 'createSignInKey'>; clock: Clock },
  { accountId, brand, lifeMs }: { accountId: string; brand: string; lifeMs: number },
): Promise<{ key: string; apiKey: ApiKey; expiresAt: number }> => {
  const key = newApiKey(brand);
  const now = clock.now();
  const expiresAt = now + lifeMs;
  const apiKey = await store.createSignInKey({
    id: newId(),
    accountId,
    hash: sha256(key),
    display: displayKey(key),
    label: 'wallet sign-in',
    expiresAt,
    maxKeys: maxSignInKeys,
    now,
  });
  return { key, apiKey, expiresAt };
};
