import type { Clock } from '../kit/clock.ts';
import { sha256 } from '../kit/ids.ts';
import type { ApiKey, Store } from '../store/store.ts';

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
