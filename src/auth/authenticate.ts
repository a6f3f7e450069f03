import type { Caller } from '../accounts/caller.ts';
import { AppError } from '../kit/errors.ts';
import { sha256 } from '../kit/ids.ts';
import type { Store } from '../store/store.ts';

/** Finds the caller of an `Authorization` header; null without one. Throws AppError `invalid_api_key` on an unusable key. */
export type Authenticate = (authorization: string | undefined) => Promise<Caller | null>;

const bearer = /^Bearer +([\x21-\x7e]{1,256}) *$/i;

/** Looks the bearer key up by its hash on every call, so that a revoked key stops working at once. */
export const createAuthenticate =
  ({ store }: { store: Pick<Store, 'findKey'> }): Authenticate =>
  async (authorization) => {
    if (authorization === undefined || authorization.trim() === '') return null;
    const key = bearer.exec(authorization)?.[1];
    const found = key === undefined ? null : await store.findKey(sha256(key));
    if (found === null || found.key.revokedAt !== null || found.account.status !== 'active')
      throw new AppError(
        'invalid_api_key',
        'The API key is missing, unknown or no longer valid. Send "Authorization: Bearer <API_KEY>".',
        { headers: { 'www-authenticate': 'Bearer' } },
      );
    const { account } = found;
    return {
      accountId: account.id,
      keyId: found.key.id,
      available: account.balance - account.held,
      terms: account.terms,
      isSandbox: account.isSandbox,
    };
  };
