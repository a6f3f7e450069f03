import type { Store } from '../store/store.ts';

/** Tells whether any gateway on this store sells real models, or ever did. */
export interface RealSales {
  /** The store's last answer. Never changes from true to false. */
  hasBegun(): boolean;
  /** Asks the store again, at most every two seconds, because another gateway may have begun. Rejects if the store fails. */
  refresh(): Promise<void>;
}

const name = 'real-models';
const askEveryMs = 2_000;

/** If `isSellingReal`, this gateway sells real models, and the store keeps that forever. */
export const openRealSales = async (
  store: Pick<Store, 'findSecret' | 'getOrCreateSecret'>,
  isSellingReal: boolean,
  nowMs: () => number = () => performance.now(),
): Promise<RealSales> => {
  if (isSellingReal) await store.getOrCreateSecret({ name, value: 'sold' });
  let hasBegun = isSellingReal;
  let askedAt = -Infinity;
  let asking = Promise.resolve();
  const ask = async (): Promise<void> => {
    try {
      hasBegun ||= (await store.findSecret(name)) !== null;
    } catch (error) {
      askedAt = -Infinity;
      throw error;
    }
  };
  const refresh = (): Promise<void> => {
    if (!hasBegun && nowMs() - askedAt >= askEveryMs) {
      askedAt = nowMs();
      asking = ask();
    }
    return asking;
  };
  await refresh();
  return { hasBegun: () => hasBegun, refresh };
};
