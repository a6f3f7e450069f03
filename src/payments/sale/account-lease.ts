import type { Clock } from '../../kit/clock.ts';
import type { Log } from '../../kit/log.ts';
import type { AccountLease } from '../chains/core/network-family.ts';
import { pause } from '../../kit/repeat.ts';
import type { Store } from '../../store/store.ts';

/** A process that died with the lease keeps it no longer than this. */
const leaseMs = 5_000;
const pollMs = 40;

/** Creates leases in the store, for all processes on it. `sender` names the account: CAIP-2 and address. */
export const createAccountLeases =
  (context: {
    store: Pick<Store, 'takeAccountLease' | 'endAccountLease'>;
    owner: string;
    clock: Clock;
    log: Log;
  }) =>
  (sender: string): AccountLease => {
    const { store, owner, clock, log } = context;
    let heldUntil: number | null = null;

    const wait = async ({ signal, waitMs }: Parameters<AccountLease['take']>[0]): Promise<boolean> => {
      const giveUpAt = performance.now() + waitMs;
      while (!signal.aborted) {
        const now = clock.now();
        if (await store.takeAccountLease({ sender, owner, until: now + leaseMs, now })) return true;
        if (performance.now() >= giveUpAt) return false;
        await pause(pollMs, signal);
      }
      return false;
    };

    return {
      take: async (options) => {
        const leftMs = heldUntil === null ? 0 : heldUntil - clock.now();
        if (leftMs > leaseMs / 2) return { isKept: true };
        const wasHeld = leftMs > 0;
        try {
          const isTaken = await wait(options);
          if (isTaken) heldUntil = clock.now() + leaseMs;
          else if (!options.signal.aborted)
            log.warn({ sender }, 'another process keeps the settling account; sending without the lease');
          return { isKept: isTaken && wasHeld };
        } catch (error) {
          log.warn(
            { err: error, sender },
            'the lease of the settling account could not be taken; sending without it',
          );
          return { isKept: false };
        }
      },
      release: async () => {
        if (heldUntil === null) return;
        heldUntil = null;
        try {
          await store.endAccountLease({ sender, owner });
        } catch (error) {
          log.warn(
            { err: error, sender },
            'the lease of the settling account could not be released; others wait until it expires',
          );
        }
      },
    };
  };
