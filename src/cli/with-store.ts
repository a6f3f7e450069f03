import { systemClock } from '../kit/clock.ts';
import { silentLog } from '../kit/log.ts';
import { openStore } from '../store/open-store.ts';
import type { Session } from './command-context.ts';
import type { StorePlace } from './store-place.ts';

/** Opens the store that the settings name, uses it and closes it. */
export const withStore = async (
  { brand, ...place }: StorePlace,
  use: (session: Pick<Session, 'store' | 'clock' | 'brand'>) => Promise<void>,
): Promise<void> => {
  const store = await openStore(place, { log: silentLog });
  try {
    await use({ store, clock: systemClock, brand });
  } finally {
    await store.close();
  }
};
