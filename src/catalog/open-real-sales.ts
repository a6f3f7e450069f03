import type { Store } from '../store/store.ts';

/** Whether real models are on sale, or were at any time, by any gateway on one store. */
export interface RealSales {
  /** As the store said when it was last asked. Once true, it stays so. */
  hasBegun(): boolean;
  /** Asks the store again, every two seconds at most: another gateway may have begun. Rejects when the store does not answer. */
  refresh(): Promise<void>;
}

const name = 'real-models';
const askEveryMs = 2_000;

/** `isSellingReal`: whether this gateway sells real models, which is remembered for good. */
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
