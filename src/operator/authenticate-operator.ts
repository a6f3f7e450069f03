import { bearerKey } from '../accounts/authenticate.ts';
import { AppError } from '../kit/errors.ts';
import type { Clock } from '../kit/clock.ts';
import { sha256 } from '../kit/ids.ts';
import type { AddressLimiter } from '../limits/address-limiter.ts';
import type { OperatorKey, Store } from '../store/store.ts';

export interface OperatorAuthOptions {
  store: Pick<Store, 'findOperatorKey'>;
  clock: Clock;
  /** Counts failed attempts. */
  failedAttempts: AddressLimiter;
}

/**
 * Finds the operator key of an `Authorization` header. It is looked up on every call, so that a revoked key stops working
 * at once. Throws AppError `invalid_api_key`, or `rate_limit_exceeded` after many failures from one address.
 */
export const authenticateOperator = async (
  { authorization, clientAddress }: { authorization: string | undefined; clientAddress: string },
  { store, clock, failedAttempts }: OperatorAuthOptions,
): Promise<OperatorKey> => {
  const key = bearerKey(authorization);
  const found = key === null ? null : await store.findOperatorKey(sha256(key));
  const isExpired = found !== null && found.expiresAt !== null && found.expiresAt <= clock.now();
  if (found !== null && found.revokedAt === null && !isExpired) return found;
  await failedAttempts.consume(clientAddress);
  throw new AppError(
    'invalid_api_key',
    'The operator key is missing, unknown, expired or revoked. Send "Authorization: Bearer <OPERATOR_KEY>"; ' +
      'API keys of customers do not work here.',
    { headers: { 'www-authenticate': 'Bearer' } },
  );
};
