import type { WalletConfig } from './catalog/wallet-settings.ts';
import { toIso, type Clock } from '../kit/clock.ts';
import { AppError } from '../kit/errors.ts';
import { sha256 } from '../kit/ids.ts';
import type { Store } from '../store/store.ts';
import { signInMaker } from '../rules/key-limits.ts';
import type { Nano } from '../kit/money.ts';

/** The caller: a valid key of an active account, read from the store when the request arrived. */
export interface Caller {
  accountId: string;
  keyId: string;
  /** Balance minus open holds, at that moment. */
  available: Nano;
  /** The account's own SKUs, rates and limits (`Account.terms`). */
  terms: string | null;
  /** `Account.isSandbox` */
  isSandbox: boolean;
  /** The account's current one; null if it has none yet. */
  webhookSecret: string | null;
  /** True: the key is from a sign-in with the wallet that owns the account. */
  isSignedIn?: boolean;
  /** The limits of the key; null: it has none, or only the expiry of a sign-in. */
  limits: CallerLimits | null;
}

export interface CallerLimits {
  /** `ApiKey.models` */
  models: readonly string[] | null;
  isBudgeted: boolean;
}

/**
 * Finds the caller of an `Authorization` header, and notes the account for the log; null without one. Throws AppError
 * `invalid_api_key` on an unusable key.
 */
export type Authenticate = (
  authorization: string | undefined,
  note?: { account?: string },
) => Promise<Caller | null>;

const bearer = /^Bearer +([\x21-\x7e]{1,256}) *$/i;

/** Returns the key of an `Authorization` header; null if there is none that can be read. */
export const bearerKey = (authorization: string | undefined): string | null =>
  bearer.exec(authorization ?? '')?.[1] ?? null;

/** Looks the bearer key up by its hash on every call, so that a revocation or a change of limits counts at once. */
export const createAuthenticate =
  ({
    store,
    clock,
    config,
  }: {
    store: Pick<Store, 'findKey'>;
    clock: Clock;
    config: { wallets: Pick<WalletConfig, 'terms'> };
  }): Authenticate =>
  async (authorization, note = {}) => {
    if (authorization === undefined || authorization.trim() === '') return null;
    const text = bearerKey(authorization);
    const found = text === null ? null : await store.findKey(sha256(text));
    if (found === null || found.key.revokedAt !== null || found.account.status !== 'active')
      throw refused(
        'The API key is missing, unknown or no longer valid. Send "Authorization: Bearer <API_KEY>".',
      );
    const { account, key } = found;
    const { expiresAt, models } = key;
    const isSignedIn = key.madeBy === signInMaker;
    if (expiresAt !== null && expiresAt <= clock.now())
      throw refused(`The API key expired at ${toIso(expiresAt)}. Use another key.`);
    note.account = account.id;
    const isBudgeted = key.budgetDay !== null || key.budgetMonth !== null;
    return {
      accountId: account.id,
      keyId: key.id,
      available: account.balance - account.held,
      terms: account.terms ?? (account.wallet === null ? null : config.wallets.terms),
      isSandbox: account.isSandbox,
      ...(isSignedIn ? { isSignedIn } : {}),
      // The expiry of a sign-in takes no right from the wallet's owner.
      limits:
        isBudgeted || models !== null || (expiresAt !== null && !isSignedIn) ? { models, isBudgeted } : null,
      webhookSecret: account.webhookSecret,
    };
  };

const refused = (message: string): AppError =>
  new AppError('invalid_api_key', message, { headers: { 'www-authenticate': 'Bearer' } });
