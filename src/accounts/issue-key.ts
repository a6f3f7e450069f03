import type { Clock } from '../kit/clock.ts';
import { newApiKey, newId, sha256 } from '../kit/ids.ts';
import type { Account, ApiKey, Store } from '../store/store.ts';

export interface IssueKeyInput {
  accountId: string;
  /** What the account calls the key; may be empty. */
  label: string;
  /** The word in `sk_<brand>_`. */
  brand: string;
  /** The key itself, where its holder has chosen it; a new one unless told. */
  key?: string;
}

export type IssueKeyOutcome =
  /** `key` is the whole key. It is stored nowhere, so this is the only time that it can be shown. */
  | { outcome: 'issued'; key: string; apiKey: ApiKey; account: Account }
  /** Keys are issued after approval only. */
  | { outcome: 'not_active'; account: Account }
  | { outcome: 'no_account' };

/** Makes a new key for an active account and stores its hash and display form. */
export const issueKey = async (
  { store, clock }: { store: Pick<Store, 'getAccount' | 'createKey'>; clock: Clock },
  { accountId, label, brand, key = newApiKey(brand) }: IssueKeyInput,
): Promise<IssueKeyOutcome> => {
  const account = await store.getAccount(accountId);
  if (account === null) return { outcome: 'no_account' };
  if (account.status !== 'active') return { outcome: 'not_active', account };
  const apiKey = await store.createKey({
    id: newId(),
    accountId,
    hash: sha256(key),
    display: displayKey(key),
    label,
    now: clock.now(),
  });
  return { outcome: 'issued', key, apiKey, account };
};

const shownCharacters = 4;

/**
 * A key as people may see it, `sk_causeway_AbCd…wxyz`: enough to tell keys apart, while 35 characters (208 bits)
 * stay unknown.
 */
export const displayKey = (key: string): string => {
  const secretFrom = key.lastIndexOf('_') + 1;
  return `${key.slice(0, secretFrom + shownCharacters)}…${key.slice(-shownCharacters)}`;
};
