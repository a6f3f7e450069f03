import type { Clock } from '../kit/clock.ts';
import type { OperatorKey, Store } from '../store/store.ts';

/** Finds the key of an operator by its SHA-256, on every call. Null if it is unknown, expired or revoked. */
export const findOperator = async (
  { store, clock }: { store: Pick<Store, 'findOperatorKey'>; clock: Clock },
  keyHash: string,
): Promise<OperatorKey | null> => {
  const found = await store.findOperatorKey(keyHash);
  if (found === null || found.revokedAt !== null) return null;
  return found.expiresAt === null || found.expiresAt > clock.now() ? found : null;
};
