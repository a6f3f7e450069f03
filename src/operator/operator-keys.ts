import { displayKey } from '../accounts/issue-key.ts';
import { newOperatorKey, sha256 } from '../kit/ids.ts';
import type { OperatorKey } from '../store/store.ts';
import type { OperatorServices } from './operator-operation.ts';
import { requireFound } from './require-found.ts';

/** Makes an operator key. It is shown only now, as only its hash is stored. `expiresAt`: null for never. */
export const issueOperatorKey = async (
  { store, clock, brand }: OperatorServices,
  { id, label, role, expiresAt }: Pick<OperatorKey, 'id' | 'label' | 'role' | 'expiresAt'>,
): Promise<{ key: string; operatorKey: OperatorKey }> => {
  const key = newOperatorKey(brand);
  const stored = { id, hash: sha256(key), display: displayKey(key), now: clock.now() };
  return { key, operatorKey: await store.createOperatorKey({ ...stored, label, role, expiresAt }) };
};

/** Ends an operator key for good. `keyOrId` is its id or the whole key. Throws AppError `key_not_found`. */
export const revokeOperatorKey = async (
  { store, clock }: OperatorServices,
  keyOrId: string,
): Promise<OperatorKey> => {
  const found = await store.findOperatorKey(sha256(keyOrId));
  const revoked = await store.revokeOperatorKey({ id: found?.id ?? keyOrId, now: clock.now() });
  return requireFound(revoked, 'key', keyOrId);
};
