import type { Clock } from '../kit/clock.ts';
import { sha256 } from '../kit/ids.ts';
import type { ApiKey, Store } from '../store/store.ts';

/**
 * Ends a key for good; revoking again keeps the first time. `keyOrId` is the key's id or the whole key, as a
 * leaked key is found without its id. Null: there is no such key.
 */
export const revokeKey = async (
  { store, clock }: { store: Pick<Store, 'findKey' | 'revokeKey'>; clock: Clock },
  keyOrId: string,
): Promise<ApiKey | null> => {
  const found = await store.findKey(sha256(keyOrId));
  return store.revokeKey({ id: found?.key.id ?? keyOrId, now: clock.now() });
};
