import { setTimeout as delay } from 'node:timers/promises';
import { LeadKeeperError } from '../../lead-keeper.ts';
import { lockKeeper } from '../keeper-lock.ts';

const retryMs = 500;

/** Takes the lock after the current change ends, even after hours. The waiting thread can be ended at any time. */
export const waitForLock = async (folder: string): Promise<{ release(): void }> => {
  for (;;) {
    try {
      return lockKeeper(folder);
    } catch (error) {
      if (!(error instanceof LeadKeeperError && error.problem === 'busy')) throw error;
    }
    await delay(retryMs);
  }
};
