import type { Clock } from '../kit/clock.ts';
import { newApiKey, newId, sha256 } from '../kit/ids.ts';
import type { Account, ApiKey, Store } from '../store/store.ts';

export interface IssueKeyInput {
  accountId: string;
  /** The account's name for the key; may be empty. */
  label: string;
  /** The word in `sk_<brand>_`. */
  brand: string;
  /** A key that its holder has chosen. Default: a new key. */
  key?: string;
}

export type IssueKeyOutcome =
  /** `key` is the whole key. It is not stored, so it can be shown only now. */
  | { outcome: 'issued'; key: string; apiKey: ApiKey; account: Account }
  /** Keys are issued only after approval. */
  | { outcome: 'not_active'; account: Account }
  | { outcome: 'no_account' };

/** Issues a key for an active account. Stores only its hash and display form. */
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
 * Shortens a key for display, `sk_causeway_AbCd…wxyz`: enough to tell keys apart, while 35 characters (208 bits) stay
 * secret.
 */
export const displayKey = (key: string): string => {
  const secretFrom = key.lastIndexOf('_') + 1;
  return `${key.slice(0, secretFrom + shownCharacters)}…${key.slice(-shownCharacters)}`;
};
