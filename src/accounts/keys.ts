import type { Clock } from '../kit/clock.ts';
import { newApiKey, newId, sha256 } from '../kit/ids.ts';
import type { Account, ApiKey, Store } from '../store/store.ts';
import { noLimits, type KeyLimits } from '../rules/key-limits.ts';

export interface IssueKeyInput {
  /** Default: a new one. */
  id?: string;
  accountId: string;
  /** The account's name for the key; may be empty. */
  label: string;
  /** The word in `sk_<brand>_`. */
  brand: string;
  /** A key that its holder has chosen. Default: a new key. */
  key?: string;
  /** Default: none. */
  limits?: KeyLimits;
  /** The id of the key that makes it. Default: the operator makes it. */
  madeBy?: string;
}

/** The most keys that an account makes for itself, revoked ones too. */
export const maxOwnKeys = 1_000;

export type IssueKeyOutcome =
  /** `key` is the whole key. It is not stored, so it can be shown only now. */
  | { outcome: 'issued'; key: string; apiKey: ApiKey; account: Account }
  /** Keys are issued only after approval. */
  | { outcome: 'not_active'; account: Account }
  | { outcome: 'no_account' }
  /** The account has made `maxOwnKeys`. */
  | { outcome: 'too_many' };

/** Issues a key for an active account. Stores only its hash and display form. */
export const issueKey = async (
  { store, clock }: { store: Pick<Store, 'getAccount' | 'createKey'>; clock: Clock },
  { id = newId(), accountId, label, brand, key = newApiKey(brand), limits = noLimits, madeBy }: IssueKeyInput,
): Promise<IssueKeyOutcome> => {
  const account = await store.getAccount(accountId);
  if (account === null) return { outcome: 'no_account' };
  if (account.status !== 'active') return { outcome: 'not_active', account };
  const apiKey = await store.createKey({
    id,
    accountId,
    hash: sha256(key),
    display: displayKey(key),
    label,
    limits,
    madeBy: madeBy ?? 'operator',
    maxKeys: madeBy === undefined ? undefined : maxOwnKeys,
    now: clock.now(),
  });
  if (apiKey === null) return { outcome: 'too_many' };
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

/** Returns the id of a key as it is, and a whole key in its display form. */
export const displayKeyOrId = (keyOrId: string): string =>
  /^(?:sk|op)_[a-z]+_\w{43}$/.test(keyOrId) ? displayKey(keyOrId) : keyOrId;

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

/**
 * Revokes a key; revoking again keeps the first time. `keyOrId` is the key's id or the whole key, because the id of a
 * leaked key may be unknown. Null if there is no such key.
 */
export const revokeKey = async (
  { store, clock }: { store: Pick<Store, 'findKey' | 'revokeKey'>; clock: Clock },
  keyOrId: string,
): Promise<ApiKey | null> => {
  const found = await store.findKey(sha256(keyOrId));
  return store.revokeKey({ id: found?.key.id ?? keyOrId, now: clock.now() });
};
